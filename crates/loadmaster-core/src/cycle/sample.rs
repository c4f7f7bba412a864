//! How many feasible nodes are looked for.

/// With fewer nodes than this all of them are looked at.
const MIN_FEASIBLE_NODES_TO_FIND: usize = 100;
/// The adaptive percentage never falls below this.
const MIN_FEASIBLE_NODES_PERCENTAGE: usize = 5;

/// How many feasible nodes are looked for among `nodes`, at `percentage` (0..=100; 0 is adaptive: 50
/// less one for each 125 nodes, at least 5). Upstream: `numFeasibleNodesToFind`.
pub fn num_feasible_nodes_to_find(percentage: u32, nodes: usize) -> usize {
    if nodes < MIN_FEASIBLE_NODES_TO_FIND {
        return nodes;
    }
    let percentage = match percentage {
        0 => 50usize.saturating_sub(nodes / 125).max(MIN_FEASIBLE_NODES_PERCENTAGE),
        given => given as usize,
    };
    (nodes.saturating_mul(percentage) / 100).max(MIN_FEASIBLE_NODES_TO_FIND)
}
