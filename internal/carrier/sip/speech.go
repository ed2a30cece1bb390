package sip

import (
	"crypto/rand"
	"encoding/binary"
	"strings"
	"time"
)

const (
	packetTime = 20 * time.Millisecond
	perPacket  = rate / 50 // samples of a packet

	keyPackets  = 8 // a key is held for 160 ms
	keyEnds     = 3 // and its end is told three times, as RFC 4733 has it
	betweenKeys = 5
	halfASecond = 25
	beforeKeys  = 100 // two seconds, for a switchboard to listen
)

// speech is what is sent to whoever answers, a packet at a time: keys, then the sound.
type speech struct {
	pieces []piece
	nth    int // packet of the first piece

	keys     byte // payload type; 0: there are none, and their time is spent in silence
	sequence uint16
	stamp    uint32 // of the packet
	began    uint32 // of the key that is held
	source   [4]byte
	marked   bool // the first packet has been
}

// piece is a key, a pause or the sound.
type piece struct {
	packets int
	sound   []byte // nil: silence
	key     int    // the event's number; -1: no key
}

// newSpeech has the keys of an extension ("w" is half a second of pause) and the sound.
func newSpeech(extension string, sound []byte, keys byte) *speech {
	s := &speech{keys: keys}
	pause := func(packets int) { s.pieces = append(s.pieces, piece{packets: packets, key: -1}) }
	if extension != "" {
		pause(beforeKeys)
	}
	for _, k := range extension {
		if k == 'w' {
			pause(halfASecond)
			continue
		}
		s.pieces = append(s.pieces, piece{packets: keyPackets + keyEnds, key: strings.IndexRune(keysInOrder, k)})
		pause(betweenKeys)
	}
	s.pieces = append(s.pieces, piece{packets: (len(sound) + perPacket - 1) / perPacket, sound: sound, key: -1})

	var seed [10]byte
	_, _ = rand.Read(seed[:]) // never fails
	s.sequence, s.stamp = binary.BigEndian.Uint16(seed[:]), binary.BigEndian.Uint32(seed[2:])
	copy(s.source[:], seed[6:])
	return s
}

// length is how long it takes.
func (s *speech) length() time.Duration {
	var packets int
	for _, p := range s.pieces {
		packets += p.packets
	}
	return time.Duration(packets) * packetTime
}

// keysInOrder has every key at the place of its event's number.
const keysInOrder = "0123456789*#"

// next is the packet whose time has come, or nil where everything was said.
func (s *speech) next() []byte {
	for len(s.pieces) > 0 && s.nth == s.pieces[0].packets {
		s.pieces, s.nth = s.pieces[1:], 0
	}
	if len(s.pieces) == 0 {
		return nil
	}
	p := s.pieces[0]
	var packet []byte
	if p.key >= 0 && s.keys != 0 {
		if s.nth == 0 {
			s.began = s.stamp
		}
		held, end := min(s.nth+1, keyPackets)*perPacket, byte(0)
		if s.nth >= keyPackets {
			end = 0x80
		}
		const volume = 10
		packet = s.packet(s.keys, s.nth == 0, s.began, []byte{byte(p.key), end | volume, byte(held >> 8), byte(held)})
	} else {
		payload := make([]byte, perPacket)
		for i := range payload {
			payload[i] = quiet
		}
		if p.sound != nil {
			copy(payload, p.sound[s.nth*perPacket:])
		}
		packet = s.packet(payloadSound, !s.marked, s.stamp, payload)
		s.marked = true
	}
	s.nth++
	s.sequence++
	s.stamp += perPacket
	return packet
}

// packet is RTP (RFC 3550).
func (s *speech) packet(payloadType byte, marker bool, stamp uint32, payload []byte) []byte {
	const version = 2 << 6
	if marker {
		payloadType |= 0x80
	}
	out := make([]byte, 0, 12+len(payload))
	out = append(out, version, payloadType)
	out = binary.BigEndian.AppendUint16(out, s.sequence)
	out = binary.BigEndian.AppendUint32(out, stamp)
	out = append(out, s.source[:]...)
	return append(out, payload...)
}
