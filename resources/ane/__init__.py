"""Sentence models for the Neural Engine: written as Core ML programs here, run on a Mac."""
