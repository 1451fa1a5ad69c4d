// Command inspect follows a page of package inspect in a terminal.
//
//	go run github.com/informerkit/informerkit/informer/inspect/cmd/inspect localhost:6060
//
// The address is that of the program, at which the page is /debug/informers, or the whole
// URL of the page. What is wrong comes first. With -once, the answer is printed once, and
// the exit code is 1 if there is none. With -explain default/web, it is about that key:
// what happened to it, and why it is not processed.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/signal"
	"strings"
	"time"
)

// main shows the page until it is interrupted. Asking for help is not a failure.
func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	info, err := os.Stdout.Stat()
	terminal := err == nil && info.Mode()&os.ModeCharDevice != 0
	err = run(ctx, os.Args[1:], os.Stdout, terminal)
	stop()
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "inspect:", err)
		os.Exit(1)
	}
}

// options are those of the command line.
type options struct {
	once  bool
	every time.Duration
	lines int
	key   string // to explain; empty: everything
	page  string
}

// parse reads the command line.
func parse(args []string, out io.Writer) (options, error) {
	var o options
	flags := flag.NewFlagSet("inspect", flag.ContinueOnError)
	flags.SetOutput(out)
	flags.BoolVar(&o.once, "once", false, "print the state once and end")
	flags.DurationVar(&o.every, "every", 2*time.Second, "the time between two requests")
	flags.IntVar(&o.lines, "lines", 40, "how many lines to show in a terminal; 0 means all")
	flags.StringVar(&o.key, "explain", "", "explain what happened to this `key`, such as default/web")
	flags.Usage = func() {
		_, _ = fmt.Fprintln(out, "usage: inspect [flags] ADDRESS    (for example localhost:6060, or the URL of the page)")
		flags.PrintDefaults()
	}
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	switch {
	case flags.NArg() != 1:
		flags.Usage()
		return o, fmt.Errorf("%d addresses given; give one, such as localhost:6060", flags.NArg())
	case o.every <= 0:
		return o, fmt.Errorf("-every is %s; give a positive duration, such as 2s", o.every)
	}
	var err error
	o.page, err = pageURL(flags.Arg(0), o.key)
	return o, err
}

// pageURL returns where the text of the page is, or of one key.
func pageURL(address, key string) (string, error) {
	if !strings.Contains(address, "://") {
		address = "http://" + address
	}
	u, err := url.Parse(address)
	if err != nil {
		return "", fmt.Errorf("the address cannot be read: %w; give one such as localhost:6060", err)
	}
	if u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return "", fmt.Errorf("%q is no address of a page; give one such as localhost:6060", address)
	}
	if u.Path == "" || u.Path == "/" {
		u.Path = "/debug/informers"
	}
	query := url.Values{"format": {"text"}}
	if key != "" {
		query.Set("key", key)
	}
	u.RawQuery = query.Encode()
	return u.String(), nil
}

// run shows the page until ctx is done.
func run(ctx context.Context, args []string, out io.Writer, terminal bool) error {
	o, err := parse(args, out)
	if err != nil {
		return err
	}
	for {
		text, err := get(ctx, o.page)
		switch {
		case ctx.Err() != nil:
			return nil
		case o.once && err != nil:
			return err
		case err != nil:
			text = fmt.Sprintf("No answer at %s: %v\n", time.Now().Format(time.TimeOnly), err)
		}
		if o.once {
			_, err := io.WriteString(out, text)
			return err
		}
		if err := show(out, text, o.lines, terminal); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(o.every):
		}
	}
}

// show replaces what a terminal shows, or appends to another output.
func show(out io.Writer, text string, lines int, terminal bool) error {
	if !terminal {
		_, err := io.WriteString(out, text+"---\n")
		return err
	}
	all := strings.SplitAfter(text, "\n")
	if left := len(all) - 1 - lines; lines > 0 && left > 0 {
		text = strings.Join(all[:lines], "") + fmt.Sprintf("and %d more lines; -lines 0 shows all\n", left)
	}
	_, err := io.WriteString(out, "\x1b[H\x1b[2J"+text) // to the top left, and clear
	return err
}

// timeout is for how long an answer may take.
const timeout = 10 * time.Second

// get returns the text of the page.
func get(ctx context.Context, page string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, page, nil)
	if err != nil {
		return "", err
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return "", fmt.Errorf("%w; is the program running, and is this the address of its page?", err)
	}
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(io.LimitReader(answer.Body, 16<<20))
	if err != nil {
		return "", err
	}
	if answer.StatusCode != http.StatusOK {
		return "", fmt.Errorf("%s answers %s: %s", page, answer.Status, strings.TrimSpace(string(text)))
	}
	return string(text), nil
}
