#pragma once

/// Whether the planted defect of this number is the one that the environment chose: ACKBOX_MUTANT=NUMBER. Without that
/// variable none is, and the program does what its sources say. It is a function without includes, so that each source
/// of an instrumented build can have it before its own first line.
bool ackboxMutant(int site) noexcept;
