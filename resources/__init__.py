"""What the stages talk to: repositories, embedders, rerankers, the store."""
