"""What kinds of traffic do not allow in the other fields of their flow."""
