package wire

// requestTokens is what a request costs beside its text: roles, separators and
// the frame of tool definitions.
const requestTokens = 64

// EstimateTokens returns a safe estimate of the input tokens of so many bytes
// of rendered JSON: a token for every three bytes, rounded up, and 64 more.
// English text takes four bytes and more for a token, text in other scripts
// about three, so that the estimate is rarely below the truth. It is what
// ceilings and context checks are made from; what is billed is measured.
func EstimateTokens(bytes int) int { return (max(bytes, 0)+2)/3 + requestTokens }
