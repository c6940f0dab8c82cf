// Package chat is the Chat Completions API as bytes, for hosts without the
// Responses API: it renders the items of a transcript as messages, and reads an
// answer back as items, so that the transcript has one form wherever a turn was
// served. It does no I/O beyond the events it is given and knows nothing of
// health or routes.
//
// What this API has no place for is left out or refused, never bent: encrypted
// reasoning is left out, because only its own host can read it; an image, a
// hosted call or a compaction item is refused, because the model would answer
// about something it was not shown.
package chat
