package browser

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"time"
)

// Chromium is a running browser. Its methods may be called concurrently.
type Chromium struct {
	command *exec.Cmd
	profile string // a folder of its own, removed by Close
	write   *os.File
	log     *os.File

	mu      sync.Mutex
	next    int                                      // the number of the next command
	answers map[int]chan<- message                   // by the number of the command
	events  map[string]func(string, json.RawMessage) // by session
	ended   error                                    // set when the browser is gone
}

// message is a command, an answer or an event of the protocol.
type message struct {
	ID        int             `json:"id,omitempty"`
	SessionID string          `json:"sessionId,omitempty"`
	Method    string          `json:"method,omitempty"`
	Params    json.RawMessage `json:"params,omitempty"`
	Result    json.RawMessage `json:"result,omitempty"`
	Error     *struct {
		Message string `json:"message"`
		Data    string `json:"data"`
	} `json:"error,omitempty"`
}

// programs are the names under which distributions install Chromium.
var programs = []string{"chromium", "chromium-browser", "google-chrome", "google-chrome-stable"}

// find returns the path of Chromium.
func find() (string, error) {
	if path := os.Getenv("CHROMIUM"); path != "" {
		return path, nil
	}
	for _, name := range programs {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", errors.New("there is no Chromium: run internal/verify/browser/install.sh, or set CHROMIUM to the path of Chromium or Chrome")
}

// flags make the browser quiet, and its pictures the same on all machines.
var flags = []string{
	"--headless", "--remote-debugging-pipe", "--no-first-run", "--no-default-browser-check",
	// It opens no page but those of the tests, and a sandbox needs rights that
	// containers do not give.
	"--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu",
	"--disable-extensions", "--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-quic",
	"--password-store=basic", "--use-mock-keychain", "--lang=en-US",
	"--hide-scrollbars", "--force-device-scale-factor=1", "--force-color-profile=srgb", "--font-render-hinting=none", "--disable-lcd-text",
	// Tabs in the background keep their timers.
	"--disable-background-timer-throttling", "--disable-renderer-backgrounding", "--disable-backgrounding-occluded-windows",
}

// fonts is a configuration of fontconfig with two fonts, whatever else is installed and
// whatever family a page asks for. %s is where it may keep its cache.
const fonts = `<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig>
  <dir>/usr/share/fonts/truetype/dejavu</dir>
  <cachedir>%s</cachedir>
  <selectfont>
    <acceptfont><glob>*/DejaVuSans.ttf</glob><glob>*/DejaVuSans-Bold.ttf</glob><glob>*/DejaVuSansMono*.ttf</glob></acceptfont>
    <rejectfont><glob>*</glob></rejectfont>
  </selectfont>
  <alias><family>monospace</family><prefer><family>DejaVu Sans Mono</family></prefer></alias>
</fontconfig>
`

// font has to be there. Without it the pictures would differ from those in testdata for
// no reason that they show.
const font = "/usr/share/fonts/truetype/dejavu/DejaVuSans.ttf"

// Start starts a browser with an empty profile. Close it.
func Start() (*Chromium, error) {
	program, err := find()
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(font); err != nil {
		return nil, fmt.Errorf("the font of the pictures is missing: run internal/verify/browser/install.sh: %w", err)
	}
	c := &Chromium{answers: map[int]chan<- message{}, events: map[string]func(string, json.RawMessage){}}
	if c.profile, err = os.MkdirTemp("", "informerkit-browser-"); err != nil {
		return nil, err
	}
	if err := c.start(program); err != nil {
		_ = os.RemoveAll(c.profile)
		return nil, fmt.Errorf("cannot start %s: %w", program, err)
	}
	return c, nil
}

// start starts the program, and a goroutine that reads what it sends. Chromium reads
// commands from file 3 and writes answers to file 4.
func (c *Chromium) start(program string) error {
	config := filepath.Join(c.profile, "fonts.conf")
	if err := os.WriteFile(config, fmt.Appendf(nil, fonts, filepath.Join(c.profile, "fontcache")), 0o600); err != nil {
		return err
	}
	commands, write, err := os.Pipe()
	if err != nil {
		return err
	}
	read, answers, err := os.Pipe()
	if err != nil {
		return errors.Join(err, commands.Close(), write.Close())
	}
	if c.log, err = os.Create(filepath.Join(c.profile, "log")); err != nil {
		return err
	}
	c.write = write
	c.command = exec.Command(program, append(flags, "--user-data-dir="+filepath.Join(c.profile, "data"), "about:blank")...)
	c.command.Env = append(os.Environ(), "FONTCONFIG_FILE="+config, "TZ=UTC", "HOME="+c.profile)
	c.command.ExtraFiles = []*os.File{commands, answers}
	c.command.Stdout, c.command.Stderr = c.log, c.log
	// A group of its own, so that Close can end the children as well.
	c.command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	err = c.command.Start()
	_, _ = commands.Close(), answers.Close()
	if err != nil {
		return errors.Join(err, write.Close(), read.Close())
	}
	go c.receive(read)
	return nil
}

// receive hands answers and events on until the browser is gone. Messages end with a
// zero byte.
func (c *Chromium) receive(from io.ReadCloser) {
	defer from.Close()
	lines := bufio.NewReaderSize(from, 1<<20)
	for {
		text, err := lines.ReadBytes(0)
		if err != nil {
			c.end(err)
			return
		}
		var m message
		if err := json.Unmarshal(text[:len(text)-1], &m); err != nil {
			c.end(err)
			return
		}
		c.mu.Lock()
		answer, event := c.answers[m.ID], c.events[m.SessionID]
		delete(c.answers, m.ID)
		c.mu.Unlock()
		switch {
		case answer != nil:
			answer <- m
		case event != nil && m.Method != "":
			event(m.Method, m.Params)
		}
	}
}

// end answers all commands with an error.
func (c *Chromium) end(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	said, _ := os.ReadFile(c.log.Name())
	c.ended = fmt.Errorf("Chromium has ended: %w\n%s", err, said) //nolint:staticcheck // a name
	for id, answer := range c.answers {
		delete(c.answers, id)
		close(answer)
	}
}

// patience is how long a command may take. It is long because the machine may be busy.
const patience = 2 * time.Minute

// do sends a command and waits for its result, which it decodes into result unless that
// is nil. An empty session is the browser itself.
func (c *Chromium) do(session, method string, params, result any) error {
	encoded, err := json.Marshal(params)
	if err != nil {
		return err
	}
	answer := make(chan message, 1)
	c.mu.Lock()
	if err := c.ended; err != nil {
		c.mu.Unlock()
		return err
	}
	c.next++
	id := c.next
	c.answers[id] = answer
	text, err := json.Marshal(message{ID: id, SessionID: session, Method: method, Params: encoded})
	if err == nil {
		_, err = c.write.Write(append(text, 0)) // under the lock: messages must not mix
	}
	c.mu.Unlock()
	if err != nil {
		return err
	}
	select {
	case m, ok := <-answer:
		switch {
		case !ok:
			c.mu.Lock()
			defer c.mu.Unlock()
			return c.ended
		case m.Error != nil:
			return fmt.Errorf("%s: %s %s", method, m.Error.Message, m.Error.Data)
		case result != nil:
			return json.Unmarshal(m.Result, result)
		}
		return nil
	case <-time.After(patience):
		return fmt.Errorf("%s: no answer within %s", method, patience)
	}
}

// Close ends the browser and removes its profile.
func (c *Chromium) Close() error {
	_ = c.do("", "Browser.close", struct{}{}, nil) // it may be gone already
	_ = c.write.Close()
	waited := make(chan struct{})
	go func() {
		_ = c.command.Wait()
		close(waited)
	}()
	select {
	case <-waited:
	case <-time.After(10 * time.Second):
	}
	// What is left of the group, if it did not end by itself.
	_ = syscall.Kill(-c.command.Process.Pid, syscall.SIGKILL)
	<-waited
	_ = c.log.Close()
	return os.RemoveAll(c.profile)
}
