package onceward

import (
	"encoding/json"
	"slices"
)

// Versions of what rides in histories and through continue-as-new. A release
// reads its own and the one before. It writes a new one only one release after it
// learned to read it, so that it can be taken back; what is newer still is left to
// a newer worker.
//
// Manifests: 2 bounds turns (TurnLimits) and waits for the end of a cancelled
// attempt. Runs that were opened with 1 go on as they began. 3 says for whom a run
// works, and which writes a person has to approve: a worker that knew neither would
// carry out something else. It is written at once, and only where a run needs it, see
// Plan.Needs. An action, and what it schedules, has the version of the manifest that
// it was proposed under; zero is that of an earlier build. So it is in what a pool
// carries.
//
// Pools: 2 has a report confirmed by a test before it disables anything. An execution
// that began with less goes on as it began until a worker of this build tells its
// routes; then it begins anew, with its record. It is written at once: what waits for
// a newer worker after a release that was taken back is the record, and no run. With 3
// the newest test alone says when a route comes back, enabling a resource is about all
// that tests have disabled of it, and an enabling is about an address.
const (
	ManifestVersion = 3
	ManifestOldest  = 1 // that is read
	CarryVersion    = 1
	PoolVersion     = 3
)

// Needs is the version that a manifest is written as: the least whose readers
// understand all that it says, so that a release which is taken back leaves no more
// runs to newer workers than it must.
func (p Plan) Needs() int {
	if p.Caller() != (Caller{}) || slices.ContainsFunc(p.Tools, func(t ToolPlan) bool { return t.Approve }) {
		return 3
	}
	return 2
}

// UnmarshalJSON reads a plan. Of a newer version it reads the version alone: that
// is what a workflow needs to leave the run to a newer worker, and a field that has
// become another type must not end the run before.
func (p *Plan) UnmarshalJSON(raw []byte) error {
	type plain Plan
	newer, err := newerThan(raw, ManifestVersion)
	if err != nil || newer > 0 {
		*p = Plan{Version: newer}
		return err
	}
	return json.Unmarshal(raw, (*plain)(p))
}

// UnmarshalJSON reads a carry; of a newer version the version alone.
func (c *Carry) UnmarshalJSON(raw []byte) error {
	type plain Carry
	newer, err := newerThan(raw, CarryVersion)
	if err != nil || newer > 0 {
		*c = Carry{Version: newer}
		return err
	}
	return json.Unmarshal(raw, (*plain)(c))
}

// UnmarshalJSON reads what a pool carries; of a newer version the version alone.
func (in *PoolInput) UnmarshalJSON(raw []byte) error {
	type plain PoolInput
	newer, err := newerThan(raw, PoolVersion)
	if err != nil || newer > 0 {
		*in = PoolInput{Version: newer}
		return err
	}
	return json.Unmarshal(raw, (*plain)(in))
}

// UnmarshalJSON reads a proposal; of a newer version the version alone.
func (in *ActInput) UnmarshalJSON(raw []byte) error {
	type plain ActInput
	newer, err := newerThan(raw, ManifestVersion)
	if err != nil || newer > 0 {
		*in = ActInput{Version: newer}
		return err
	}
	return json.Unmarshal(raw, (*plain)(in))
}

// UnmarshalJSON reads the input of an action; of a newer version, which is that of
// the proposal, the version alone.
func (in *ActionInput) UnmarshalJSON(raw []byte) error {
	type plain ActionInput
	var head struct {
		Act ActInput `json:"act"`
	}
	if err := json.Unmarshal(raw, &head); err != nil || head.Act.Version > ManifestVersion {
		*in = ActionInput{Act: head.Act}
		return err
	}
	return json.Unmarshal(raw, (*plain)(in))
}

// UnmarshalJSON reads the input of a commit or a find; of a newer version the
// version alone.
func (in *CommitInput) UnmarshalJSON(raw []byte) error {
	type plain CommitInput
	newer, err := newerThan(raw, ManifestVersion)
	if err != nil || newer > 0 {
		*in = CommitInput{Version: newer}
		return err
	}
	return json.Unmarshal(raw, (*plain)(in))
}

// newerThan returns the version that raw names if it is above known, else 0.
func newerThan(raw []byte, known int) (int, error) {
	var head struct {
		Version int `json:"version"`
	}
	if err := json.Unmarshal(raw, &head); err != nil {
		return 0, err
	}
	if head.Version > known {
		return head.Version, nil
	}
	return 0, nil
}
