"""What others say of the work: findings, experts, the gate."""
