"""Answer one question each: the numbers, what they mean in words, the tables and the figures."""
