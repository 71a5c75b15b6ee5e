// Edges by rows, and neighbours drawn from these for mini-batches.
#include "edges.h"

// splitmix64 (Steele, Lea and Flood, 2014): a number of a stream from its place in it.
INLINE uint64_t scramble(uint64_t state) {
    state += 0x9e3779b97f4a7c15u;
    state = (state ^ (state >> 30)) * 0xbf58476d1ce4e5b9u;
    state = (state ^ (state >> 27)) * 0x94d049bb133111ebu;
    return state ^ (state >> 31);
}

// 64 random bits as a number from 0 to n - 1, for n below 2^31.
INLINE uint64_t below(uint64_t bits, uint64_t n) {
    return ((bits >> 32) * n + ((bits & 0xffffffffu) * n >> 32)) >> 32;
}

// chosen [n]: as many of 0 ... degree - 1, each set as likely as any other (Floyd's method; Bentley, 1987), ascending.
INLINE void draw_places(uint64_t stream, Count degree, Count n, int32_t* chosen) {
    for (Count i = 0; i < n; i++) {
        const Count last = degree - n + i;
        int32_t found = (int32_t)below(scramble(stream + (uint64_t)i * 0x9e3779b97f4a7c15u), (uint64_t)last + 1);
        for (Count k = 0; k < i; k++)
            if (chosen[k] == found) {
                // All chosen before are smaller.
                found = (int32_t)last;
                break;
            }
        Count k = i;
        for (; k > 0 && chosen[k - 1] > found; k--) chosen[k] = chosen[k - 1];
        chosen[k] = found;
    }
}

// The sub-graph of some of the nodes within `n_hops` of the seeds, the first `n_seeds` of `nodes`: of each node that is
// reached before the last hop at most fan_outs[hop] entries, drawn by key, hop and node alone. Nodes are numbered as
// they are reached. `places` [graph->n_rows] is -1 before and after; `entries` are places in the graph. Returns how many
// nodes there are; their entries end at pointers[nodes].
EXPORT Count sample_neighbours(const Edges* graph, Count n_hops, const int64_t* fan_outs, Count n_seeds, int64_t key,
                               int32_t* places, int64_t* nodes, int32_t* pointers, int32_t* columns,
                               int32_t* entries) {
    for (Count r = 0; r < n_seeds; r++) places[nodes[r]] = (int32_t)r;
    Count first = 0, n = n_seeds, n_entries = 0;
    pointers[0] = 0;
    for (Count hop = 0; hop < n_hops; hop++) {
        const Count end = n;
        for (Count r = first; r < end; r++) {
            const Row row(graph, nodes[r]);
            const Count kept = row.n < fan_outs[hop] ? row.n : fan_outs[hop];
            int32_t* own = entries + n_entries;
            const uint64_t name = ((uint64_t)hop << 32) | (uint64_t)nodes[r];
            if (kept == row.n)
                for (Count k = 0; k < kept; k++) own[k] = (int32_t)k;
            else
                draw_places(scramble((uint64_t)key + scramble(name)), row.n, kept, own);
            for (Count k = 0; k < kept; k++) {
                const int32_t source = row.columns[own[k]];
                if (places[source] < 0) {
                    places[source] = (int32_t)n;
                    nodes[n++] = source;
                }
                columns[n_entries + k] = places[source];
                own[k] += (int32_t)row.first;
            }
            n_entries += kept;
            pointers[r + 1] = (int32_t)n_entries;
        }
        first = end;
    }
    for (Count r = first; r < n; r++) pointers[r + 1] = (int32_t)n_entries;
    for (Count r = 0; r < n; r++) places[nodes[r]] = -1;
    return n;
}

// Edges by target, in each row in the order as given: pointers [n_nodes + 1], zero before, and columns [n_edges].
EXPORT void sort_edges(const int64_t* sources, const int64_t* targets, Count n_edges, Count n_nodes,
                       int32_t* pointers, int32_t* columns) {
    for (Count e = 0; e < n_edges; e++) pointers[targets[e] + 1]++;
    for (Count r = 0; r < n_nodes; r++) pointers[r + 1] += pointers[r];
    for (Count e = 0; e < n_edges; e++) columns[pointers[targets[e]]++] = (int32_t)sources[e];
    // Every pointer stands where the next row begins.
    for (Count r = n_nodes; r > 0; r--) pointers[r] = pointers[r - 1];
    pointers[0] = 0;
}

// The same rows without loops, and a loop at the end of each.
EXPORT void add_loops(const Edges* edges, int32_t* pointers, int32_t* columns) {
    int32_t n = 0;
    for (Count r = 0; r < edges->n_rows; r++) {
        pointers[r] = n;
        const Row row(edges, r);
        for (Count k = 0; k < row.n; k++) {
            columns[n] = row.columns[k];
            n += row.columns[k] != r;
        }
        columns[n++] = (int32_t)r;
    }
    pointers[edges->n_rows] = n;
}
