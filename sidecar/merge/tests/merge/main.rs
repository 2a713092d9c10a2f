//! Merges as the proxy runs them: parts in, the client's rows out, in both encodings.

#[cfg(test)]
mod aggregates;
#[cfg(test)]
mod distinct;
#[cfg(test)]
mod flow;
#[cfg(test)]
mod order;
#[cfg(test)]
mod parts;
#[cfg(test)]
mod refusals;
#[cfg(test)]
mod robustness;
