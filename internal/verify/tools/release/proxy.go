package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/mod/module"
	"golang.org/x/mod/zip"
)

// writeProxy writes the modules of HEAD as a module proxy serves them: a tree of
// files, for GOPROXY=file://tree.
func (r release) writeProxy(tree string) error {
	for _, m := range r.modules {
		if err := r.writeModule(tree, m); err != nil {
			return fmt.Errorf("%s: %w", m.path, err)
		}
	}
	return nil
}

func (r release) writeModule(tree string, m goModule) error {
	escaped, err := module.EscapePath(m.path)
	if err != nil {
		return err
	}
	dir := filepath.Join(tree, filepath.FromSlash(escaped), "@v")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	info, err := json.Marshal(struct {
		Version string
		Time    time.Time
	}{r.version, time.Now().UTC()})
	if err != nil {
		return err
	}
	for name, content := range map[string][]byte{
		"list": []byte(r.version + "\n"), r.version + ".info": info, r.version + ".mod": []byte(m.text),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o644); err != nil {
			return err
		}
	}
	file := filepath.Join(dir, r.version+".zip")
	packed, err := os.Create(file)
	if err != nil {
		return err
	}
	defer packed.Close()
	version := module.Version{Path: m.path, Version: r.version}
	if err := zip.CreateFromVCS(packed, version, r.root, "HEAD", m.dir); err != nil {
		return err
	}
	checked, err := zip.CheckZip(version, file)
	if err != nil {
		return err
	}
	size, err := packed.Stat()
	if err != nil {
		return err
	}
	fmt.Printf("  %s@%s: %d files, %d kB packed\n", m.path, r.version, len(checked.Valid), size.Size()/1000)
	return checked.Err()
}
