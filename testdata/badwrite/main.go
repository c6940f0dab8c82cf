// A write tool without its reconciliation read: compile_test.go checks that it
// does not compile.
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

var _ = onceward.Write(onceward.Spec{Name: "refund"}, id, shop.Refund)

func main() {}
