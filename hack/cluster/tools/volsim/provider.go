package main

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

const (
	attach = "attach"
	detach = "detach"
	// How soon an operation notices that the settings have changed.
	poll = 20 * time.Millisecond
)

// place is a volume on a node: at most one operation is about it at a time.
type place struct{ volume, node string }

type operation struct {
	kind string
	place
	exclusive bool
	asked     time.Time
	ended     chan struct{}
	err       error // once ended
}

func (o *operation) log(event string, more ...any) {
	about := []any{"operation", o.kind, "volume", o.volume, "node", o.node, "exclusive", o.exclusive}
	slog.Info(event, append(about, more...)...)
}

// provider stands for the storage system behind the driver: it knows what is attached where, and works off operations in
// the order in which they were asked for, as far as its limits let it.
type provider struct {
	file     string
	mu       sync.Mutex
	last     settings
	attached map[place]bool // exclusive or not
	pending  map[place]*operation
	queue    []*operation   // not yet running
	running  map[string]int // by node
	active   int
}

func newProvider(file string) (*provider, error) {
	read, err := readSettings(file)
	p := &provider{
		file: file, last: read,
		attached: map[place]bool{}, pending: map[place]*operation{}, running: map[string]int{},
	}
	return p, err
}

// settings are those of now. A file that cannot be read is reported, and what was there before goes on.
func (p *provider) settings() settings {
	read, err := readSettings(p.file)
	p.mu.Lock()
	defer p.mu.Unlock()
	if err != nil {
		slog.Error("settings", "error", err.Error())
		return p.last
	}
	p.last = read
	return read
}

// do returns when the operation has ended or the caller gives up. The operation goes on then, as with real providers,
// and a caller who asks again joins it.
func (p *provider) do(ctx context.Context, kind string, at place, exclusive bool) error {
	now := p.settings()
	p.mu.Lock()
	o, err := p.ask(now, kind, at, exclusive)
	p.mu.Unlock()
	if o == nil || err != nil {
		return err
	}
	p.startWaiting(now)
	select {
	case <-o.ended:
		return o.err
	case <-ctx.Done():
		o.log("gaveUp")
		return status.FromContextError(ctx.Err()).Err()
	}
}

// ask finds or queues the operation; neither it nor an error where there is nothing to do.
func (p *provider) ask(now settings, kind string, at place, exclusive bool) (*operation, error) {
	o := &operation{kind: kind, place: at, exclusive: exclusive, asked: time.Now(), ended: make(chan struct{})}
	if known := p.pending[at]; known != nil {
		if known.kind == kind {
			return known, nil
		}
		return nil, status.Errorf(codes.Aborted, "the %s of volume %s still goes on", known.kind, at.volume)
	}
	if _, is := p.attached[at]; is == (kind == attach) {
		return nil, nil
	}
	if kind == attach {
		if err := p.refusal(now, o); err != nil {
			return nil, err
		}
	}
	p.pending[at] = o
	p.queue = append(p.queue, o)
	o.log("asked")
	return o, nil
}

func (p *provider) refusal(now settings, o *operation) error {
	volumes := 0
	elsewhere := func(other place, exclusive bool) bool {
		if other.node == o.node {
			volumes++
		}
		return other.volume == o.volume && (exclusive || o.exclusive)
	}
	isTaken := false
	for other, exclusive := range p.attached {
		isTaken = elsewhere(other, exclusive) || isTaken
	}
	for other, op := range p.pending {
		if op.kind == attach { // what is being detached is among the attached
			isTaken = elsewhere(other, op.exclusive) || isTaken
		}
	}
	if isTaken {
		o.log("refused", "reason", "attachedElsewhere")
		return status.Errorf(codes.FailedPrecondition, "volume %s is attached to another node", o.volume)
	}
	if now.MaxVolumesPerNode > 0 && volumes >= now.MaxVolumesPerNode {
		o.log("refused", "reason", "nodeIsFull")
		return status.Errorf(codes.ResourceExhausted, "node %s takes no more than %d volumes", o.node, now.MaxVolumesPerNode)
	}
	return nil
}

// startWaiting starts all that the limits allow. One that its node holds up does not hold up those of other nodes.
func (p *provider) startWaiting(now settings) {
	p.mu.Lock()
	defer p.mu.Unlock()
	var waiting []*operation
	for _, o := range p.queue {
		if (now.InAll > 0 && p.active >= now.InAll) || (now.PerNode > 0 && p.running[o.node] >= now.PerNode) {
			waiting = append(waiting, o)
			continue
		}
		p.active++
		p.running[o.node]++
		go p.run(o)
	}
	p.queue = waiting
}

func (p *provider) run(o *operation) {
	o.log("started", "queuedSeconds", time.Since(o.asked).Seconds())
	time.Sleep(p.settings().latency(o.kind))
	now := p.settings()
	for now.has("hang", o) {
		time.Sleep(poll)
		now = p.settings()
	}
	if now.has("fail", o) || rand.Float64() < now.FailureRate {
		o.err = status.Errorf(codes.Internal, "the provider could not %s volume %s", o.kind, o.volume)
	}
	p.end(o)
	p.startWaiting(now)
}

func (p *provider) end(o *operation) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case o.err != nil:
		o.log("failed")
	case o.kind == attach:
		p.attached[o.place] = o.exclusive
		o.log("ended")
	default:
		delete(p.attached, o.place)
		o.log("ended")
	}
	p.active--
	p.running[o.node]--
	delete(p.pending, o.place)
	close(o.ended)
}
