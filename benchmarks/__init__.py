"""Speed, always as a ratio in one run: machines are shared and absolute times prove nothing."""
