"""Trees of predicates: walked without a stack, replaced in part, asked which leaves leave them open."""
