"""Retrieval sets, metrics and the chunker benchmark."""
