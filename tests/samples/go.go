// Package stack keeps things in order.
package stack

import "fmt"

// Limit is how many items fit.
const Limit = 10

const (
	// Small is small.
	Small = iota
	large
)

var ErrFull, errEmpty = fmt.Errorf("full"), fmt.Errorf("empty")

// Stack keeps items in LIFO order.
type Stack[T any] struct {
	items []T
}

type (
	// Visitor is called for each item.
	Visitor func(item any) bool
	Logger  interface {
		fmt.Stringer
		Log(format string, args ...any) (n int, err error)
	}
)

type Alias = Stack[int]

// Push adds one item.
func (s *Stack[T]) Push(v, w T, rest ...T) error {
	s.items = append(s.items, v)
	return nil
}

func (Stack[T]) Kind() string { return "stack" }

func New[T any](size int, opts map[string]func(int) bool) (*Stack[T], error) { return nil, nil }

//go:noinline
func init() {}
func init() {}
