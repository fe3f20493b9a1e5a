"""From a request to a shape: clarifying, aspects, criteria."""
