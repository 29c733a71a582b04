"""The event core: start, finish, release; it knows no policy."""
