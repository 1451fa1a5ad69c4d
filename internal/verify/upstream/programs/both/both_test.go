package main

import (
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// The binary that is run twice is this one, with a variable that makes it another program.
func TestMain(m *testing.M) {
	if os.Getenv("BOTH_CHILD") != "" {
		fmt.Println(os.Getenv("INFORMERKIT"), slices.Contains(os.Args, "-test.timeout=3m"), os.Args[len(os.Args)-1])
		if os.Getenv("INFORMERKIT") == os.Getenv("BOTH_CHILD") {
			os.Exit(3)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func TestBinaryRunsWithBothKindsOfInformers(t *testing.T) {
	for _, test := range []struct {
		failing string
		code    int
	}{{"none", 0}, {"off", 0}, {"on", 3}} {
		t.Run(test.failing+" fails", func(t *testing.T) {
			t.Setenv("BOTH_CHILD", test.failing)
			folder := t.TempDir()
			out, err := os.Create(filepath.Join(folder, "ours"))
			require.NoError(t, err)
			code, err := both(folder, "3m", os.Args[0], []string{"-test.v", "-test.timeout=1h", "-report=informerkit-KIND.json"}, out)
			require.NoError(t, err)
			require.NoError(t, out.Close())
			require.Equal(t, test.code, code, "of the second run")
			here, err := os.Getwd()
			require.NoError(t, err)
			theirs, err := os.ReadFile(filepath.Join(folder, url.PathEscape(here)))
			require.NoError(t, err)
			require.Equal(t, "off true -report=informerkit-off.json\n", string(theirs))
			ours, err := os.ReadFile(out.Name())
			require.NoError(t, err)
			require.Equal(t, "on true -report=informerkit-on.json\n", string(ours))
		})
	}
}
