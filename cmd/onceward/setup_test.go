package main

import (
	"strings"
	"testing"

	enumspb "go.temporal.io/api/enums/v1"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/worker"
)

func TestSetupAddsWhatIsMissingAndChangesNothing(t *testing.T) {
	t.Parallel()
	all := worker.SearchAttributes()
	if missing, err := missingAttributes(all); err != nil || len(missing) != 0 {
		t.Errorf("a namespace that has all lacks %v, %v", missing, err)
	}
	if missing, err := missingAttributes(nil); err != nil || len(missing) != len(all) {
		t.Errorf("an empty namespace lacks %v, %v, want all %d", missing, err, len(all))
	}
	all[onceward.AttributeAttempts] = enumspb.INDEXED_VALUE_TYPE_KEYWORD
	if _, err := missingAttributes(all); err == nil || !strings.Contains(err.Error(), onceward.AttributeAttempts) {
		t.Errorf("an attribute of another type gave %v, want its name", err)
	}
}
