package main

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"time"
)

// settings may change at any time; zero as a limit means none.
type settings struct {
	AttachSeconds     float64   `json:"attachSeconds"`
	DetachSeconds     float64   `json:"detachSeconds"`
	Jitter            float64   `json:"jitter"` // share of the time by which it is longer or shorter
	PerNode           int       `json:"perNode"`
	InAll             int       `json:"inAll"`
	FailureRate       float64   `json:"failureRate"`
	MaxVolumesPerNode int       `json:"maxVolumesPerNode"`
	Troubles          []trouble `json:"troubles"`
}

// trouble is what goes wrong with the operations that it names; an empty field names all.
type trouble struct {
	Operation string `json:"operation"`
	Volume    string `json:"volume"`
	Node      string `json:"node"`
	Does      string `json:"does"` // hang or fail
}

func readSettings(file string) (settings, error) {
	var read settings
	text, err := os.ReadFile(file)
	if err != nil {
		return read, err
	}
	if err := json.Unmarshal(text, &read); err != nil {
		return read, fmt.Errorf("%s: %w", file, err)
	}
	return read, nil
}

func (s settings) latency(operation string) time.Duration {
	seconds := s.AttachSeconds
	if operation == detach {
		seconds = s.DetachSeconds
	}
	seconds *= 1 + s.Jitter*(2*rand.Float64()-1)
	return time.Duration(seconds * float64(time.Second))
}

func (s settings) has(does string, o *operation) bool {
	for _, t := range s.Troubles {
		if t.Does == does && matches(t.Operation, o.kind) && matches(t.Volume, o.volume) && matches(t.Node, o.node) {
			return true
		}
	}
	return false
}

func matches(wanted, is string) bool { return wanted == "" || wanted == is }
