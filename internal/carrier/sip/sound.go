package sip

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
	"os"
	"time"
)

// A sound is G.711 µ-law at 8 kHz, a byte a sample: what goes into the packets.
const (
	rate      = 8000
	quiet     = 0xff // µ-law for 0
	mostBytes = 2*rate*int(longest/time.Second) + 1<<16
)

// silence is at least one packet of it.
func silence(d time.Duration) []byte {
	return bytes.Repeat([]byte{quiet}, max(perPacket, int(d*rate/time.Second)))
}

// loadSound reads a WAV file. The error says what of it is not accepted.
func loadSound(path string) ([]byte, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is no file", path)
	case info.Size() > int64(mostBytes):
		return nil, fmt.Errorf("%s is longer than %v", path, longest)
	}
	file, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	sound, err := readWAV(file)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return sound, nil
}

// readWAV takes the samples out of a RIFF file and makes them µ-law.
func readWAV(file []byte) ([]byte, error) {
	const pcm, mulaw = 1, 7
	if len(file) < 12 || string(file[:4]) != "RIFF" || string(file[8:12]) != "WAVE" {
		return nil, errors.New("not a WAV file")
	}
	var format, channels, width uint16
	known := func() bool { return format == pcm && width == 16 || format == mulaw && width == 8 }
	var hertz uint32
	for rest := file[12:]; len(rest) >= 8; {
		name, size := string(rest[:4]), int64(binary.LittleEndian.Uint32(rest[4:8]))
		rest = rest[8:]
		chunk := rest[:min(size, int64(len(rest)))] // what is recorded into a pipe gives no true size
		rest = rest[min(size+size%2, int64(len(rest))):]
		switch {
		case name == "fmt " && len(chunk) >= 16:
			format, channels = binary.LittleEndian.Uint16(chunk), binary.LittleEndian.Uint16(chunk[2:])
			hertz, width = binary.LittleEndian.Uint32(chunk[4:]), binary.LittleEndian.Uint16(chunk[14:])
		case name != "data":
		case channels != 1 || hertz != rate || !known():
			return nil, fmt.Errorf("format %d, %d channels, %d Hz, %d bits: accepted is 8000 Hz, mono, 16-bit PCM (format 1) or µ-law (format 7)",
				format, channels, hertz, width)
		case len(chunk) < 2:
			return nil, errors.New("holds no sound")
		case format == mulaw:
			return atMost(chunk)
		default:
			sound := make([]byte, len(chunk)/2)
			for i := range sound {
				sound[i] = compress(int16(binary.LittleEndian.Uint16(chunk[2*i:])))
			}
			return atMost(sound)
		}
	}
	return nil, errors.New("holds no sound")
}

func atMost(sound []byte) ([]byte, error) {
	if len(sound) > rate*int(longest/time.Second) {
		return nil, fmt.Errorf("longer than %v", longest)
	}
	return sound, nil
}

// compress is G.711's µ-law: a sign, three bits of segment, four of what is left, all inverted.
func compress(sample int16) byte {
	const bias, clip = 0x84, 32635
	n, sign := int(sample), byte(0)
	if n < 0 {
		n, sign = -n, 0x80
	}
	n = min(n, clip) + bias
	segment := bits.Len(uint(n)) - 8
	return ^(sign | byte(segment)<<4 | byte(n>>(segment+3))&0x0f)
}
