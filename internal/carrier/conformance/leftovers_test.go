package conformance_test

import (
	"context"
	"fmt"
	"net"
	"os"
	"runtime/pprof"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestMain looks for what no single case can be blamed for: files and sockets that are still open
// when every test is over, of those that this machine can count.
func TestMain(m *testing.M) {
	warm()
	before := descriptors()
	code := m.Run()
	if now := 0; !eventually(func() bool { now = descriptors(); return now <= before }) {
		fmt.Printf("FAIL: %d files and sockets were open before, and %d are now\n", before, now)
		code = 1
	}
	os.Exit(code)
}

// warm opens what the network opens once and keeps.
func warm() {
	if listener, err := net.Listen("tcp", "127.0.0.1:0"); err == nil {
		listener.Close()
	}
}

func descriptors() int {
	all, _ := os.ReadDir("/proc/self/fd")
	return len(all)
}

const label = "case"

// marked runs f with a mark that every goroutine bears that comes of it, and whatever comes of those.
func marked(ctx context.Context, mark string, f func(context.Context)) {
	pprof.Do(ctx, pprof.Labels(label, mark), f)
}

// bearing is the stacks of the goroutines that bear a mark; "" where none does.
func bearing(mark string) string {
	var all strings.Builder
	_ = pprof.Lookup("goroutine").WriteTo(&all, 1)
	var left []string
	for group := range strings.SplitSeq(all.String(), "\n\n") {
		if strings.Contains(group, strconv.Quote(label)+":"+strconv.Quote(mark)) {
			left = append(left, group)
		}
	}
	return strings.Join(left, "\n\n")
}

// newWall is an address at which connecting takes for ever: nobody accepts, and the queue of those
// that wait for it is full. When the table is over it accepts whoever is left, and none of them may
// have said a word. Where this machine knows no such address it is "".
func newWall(table *testing.T) string {
	table.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		table.Fatal(err)
	}
	raw, err := listener.(*net.TCPListener).SyscallConn()
	if err != nil {
		table.Fatal(err)
	}
	_ = raw.Control(func(fd uintptr) { _ = syscall.Listen(int(fd), 0) }) // a queue of none
	var waiting []net.Conn
	full := false
	for range 4 {
		c, err := net.DialTimeout("tcp", listener.Addr().String(), 2*blip)
		if full = err != nil; full {
			break
		}
		waiting = append(waiting, c)
	}
	table.Cleanup(func() {
		for _, c := range waiting {
			c.Close()
		}
		for {
			_ = listener.(*net.TCPListener).SetDeadline(time.Now().Add(blip))
			c, err := listener.Accept()
			if err != nil {
				break
			}
			_ = c.SetDeadline(time.Now().Add(patience))
			if n, _ := c.Read(make([]byte, 1)); n > 0 {
				table.Error("something was sent to an address that cannot be reached")
			}
			c.Close()
		}
		listener.Close()
	})
	if !full {
		return ""
	}
	return listener.Addr().String()
}
