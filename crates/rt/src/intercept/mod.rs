//! Functions of the C library that order threads or hand out memory, defined again in front of the library's own.
