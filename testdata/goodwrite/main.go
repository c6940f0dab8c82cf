// A write tool with everything it needs. compile_test.go builds it, so that the
// refusal of badwrite has one cause only.
package main

import (
	"context"

	"github.com/onceward/onceward"
)

type shop struct{}

type args struct {
	Order string `json:"order"`
}

func (shop) Refund(context.Context, onceward.Action, args) (onceward.Receipt, error) {
	return onceward.Committed("r1"), nil
}

func (shop) Find(context.Context, onceward.Action, args) (onceward.Receipt, error) {
	return onceward.Absent(), nil
}

func id(in args) onceward.ActionID { return onceward.ActionID("refund/" + in.Order) }

var _ = onceward.Write(onceward.Spec{Name: "refund"}, id, shop.Refund, shop.Find)

func main() {}
