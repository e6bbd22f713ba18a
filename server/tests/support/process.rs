//! The binary, as a client that knows nothing of it sees it.
