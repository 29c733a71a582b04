"""The lab: an HTTP API for plans, and a page in the browser that uses nothing else."""
