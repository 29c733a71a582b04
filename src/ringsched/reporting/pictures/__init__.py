"""Pictures for papers and pages, by matplotlib, from the same data as the report's."""
