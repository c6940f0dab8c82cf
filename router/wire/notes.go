package wire

import (
	"fmt"
	"strings"
)

// kind is a way in which what goes out differs from what the transcript keeps.
type kind int

const (
	notedNothing kind = iota
	notedLongID
	notedForeignID
	notedUnknownID
	notedStrangeID
	notedRepeatedID
	notedCallIDs
	notedNulls
	notedEmpty
	notedArguments
	notedSurrogates
	notedNames
	notedMembers
	notedValues
	kinds
)

var kindTexts = [kinds]string{
	notedLongID:     "ids left out of %d items: longer than 64 characters",
	notedForeignID:  "ids left out of %d items: minted in another encryption boundary",
	notedUnknownID:  "ids left out of %d items: nobody wrote down who minted them",
	notedStrangeID:  "ids left out of %d items: of a form that the API does not mint",
	notedRepeatedID: "ids left out of %d items: another item has the same",
	notedCallIDs:    "%d calls renamed, with their outputs",
	notedNulls:      "%d nulls left out",
	notedEmpty:      "%d empty members added that the API requires",
	notedArguments:  "%d arguments written as the text of an object",
	notedSurrogates: "%d arguments freed of half surrogate pairs",
	notedNames:      "%d names written in the characters that hosts take",
	notedMembers:    "%d members left out that only their own host takes back",
	notedValues:     "%d values replaced by the API's own",
}

// notes counts by kind. The zero value has nothing to tell.
type notes [kinds]int

// String returns one line for the trail, empty if there is nothing to tell.
func (n *notes) String() string {
	var told []string
	for k, count := range n {
		if count > 0 && kindTexts[k] != "" {
			told = append(told, fmt.Sprintf(kindTexts[k], count))
		}
	}
	if len(told) == 0 {
		return ""
	}
	return "fitted to the target: " + strings.Join(told, "; ")
}
