// Package summarizetest holds what every implementation of
// [summarize.Summarizer] must fulfil, for use in its tests.
package summarizetest
