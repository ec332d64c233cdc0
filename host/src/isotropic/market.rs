//! Economies as gases of agents.
