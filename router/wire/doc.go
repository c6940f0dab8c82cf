// Package wire is the Responses API as bytes: it renders a request, decodes a
// stream of events and reads an answer. It does no I/O beyond the reader it is
// given and knows nothing of health or routes.
//
// Items are never decoded into typed structs and encoded again: that loses
// fields the host may need back.
package wire
