"""Files in, files out: scenarios, job lists, plans."""
