package sip

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// wav is a WAV file with an unknown chunk of odd length before the samples.
func wav(format, channels uint16, hertz uint32, width uint16, data []byte) []byte {
	chunk := func(name string, content []byte) []byte {
		out := binary.LittleEndian.AppendUint32([]byte(name), uint32(len(content)))
		out = append(out, content...)
		if len(content)%2 == 1 {
			out = append(out, 0)
		}
		return out
	}
	var f []byte
	f = binary.LittleEndian.AppendUint16(f, format)
	f = binary.LittleEndian.AppendUint16(f, channels)
	f = binary.LittleEndian.AppendUint32(f, hertz)
	f = binary.LittleEndian.AppendUint32(f, hertz*uint32(channels)*uint32(width)/8)
	f = binary.LittleEndian.AppendUint16(f, channels*width/8)
	f = binary.LittleEndian.AppendUint16(f, width)
	all := append([]byte("WAVE"), chunk("fmt ", f)...)
	all = append(all, chunk("LIST", []byte("odd"))...)
	all = append(all, chunk("data", data)...)
	return chunk("RIFF", all)
}

// writeSound is a µ-law file of so many packets, and its samples.
func writeSound(t *testing.T, packets int) (path string, sound []byte) {
	t.Helper()
	sound = make([]byte, packets*perPacket)
	for i := range sound {
		sound[i] = byte(i * 7)
	}
	path = filepath.Join(t.TempDir(), "promise.wav")
	if err := os.WriteFile(path, wav(7, 1, rate, 8, sound), 0o600); err != nil {
		t.Fatal(err)
	}
	return path, sound
}

func TestReadWAV(t *testing.T) {
	t.Parallel()
	ok := wav(1, 1, 8000, 16, []byte{0, 0, 0xff, 0x7f, 0, 0x80})
	for _, row := range []struct {
		name  string
		file  []byte
		want  string
		error string
	}{
		{name: "PCM", file: ok, want: "\xff\x80\x00"},
		{name: "µ-law", file: wav(7, 1, 8000, 8, []byte{1, 2}), want: "\x01\x02"},
		{name: "cut off", file: ok[:len(ok)-2], want: "\xff\x80"},
		{name: "stereo", file: wav(1, 2, 8000, 16, []byte{0, 0}), error: "2 channels"},
		{name: "CD", file: wav(1, 1, 44100, 16, []byte{0, 0}), error: "44100 Hz"},
		{name: "A-law", file: wav(6, 1, 8000, 8, []byte{0, 0}), error: "format 6"},
		{name: "8 bits", file: wav(1, 1, 8000, 8, []byte{0, 0}), error: "8 bits"},
		{name: "empty", file: wav(1, 1, 8000, 16, nil), error: "no sound"},
		{name: "no samples", file: ok[:40], error: "no sound"},
		{name: "text", file: []byte("hello, this is not a sound"), error: "not a WAV"},
		{name: "too long", file: wav(7, 1, 8000, 8, make([]byte, rate*int(longest/time.Second)+1)), error: "longer"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			got, err := readWAV(row.file)
			if row.error == "" && (err != nil || string(got) != row.want) || row.error != "" && (err == nil || !strings.Contains(err.Error(), row.error)) {
				t.Errorf("%x, %v", got, err)
			}
		})
	}
}

// expand is what a telephone makes of µ-law (G.711).
func expand(b byte) int {
	b = ^b
	n := (int(b&0x0f)<<3+0x84)<<(b>>4&7) - 0x84
	if b&0x80 != 0 {
		return -n
	}
	return n
}

// µ-law keeps every sample to within half a step of its segment.
func TestCompress(t *testing.T) {
	t.Parallel()
	for sample := -32768; sample <= 32767; sample++ {
		got := expand(compress(int16(sample)))
		size := max(sample, -sample)
		if off := max(got-sample, sample-got); off > size/16+8 && size < 32636 {
			t.Fatalf("%d comes out as %d", sample, got)
		}
	}
}

func FuzzReadWAV(f *testing.F) {
	f.Add(wav(1, 1, 8000, 16, []byte{0, 0, 0xff, 0x7f}))
	f.Fuzz(func(t *testing.T, file []byte) {
		if sound, err := readWAV(file); err == nil && len(sound) == 0 {
			t.Error("no sound and no error")
		}
	})
}
