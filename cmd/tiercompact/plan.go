package main

import "github.com/spf13/cobra"

func newPlanCommand() *cobra.Command    { return &cobra.Command{Use: "plan"} }
func newCheckCommand() *cobra.Command   { return &cobra.Command{Use: "check"} }
func newRecallCommand() *cobra.Command  { return &cobra.Command{Use: "recall"} }
func newUndoCommand() *cobra.Command    { return &cobra.Command{Use: "undo"} }
func newVersionCommand() *cobra.Command { return &cobra.Command{Use: "version"} }
