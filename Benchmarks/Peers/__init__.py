"""What a user would pick instead, each driven through its own best interface: see ../README.md."""
