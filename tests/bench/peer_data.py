"""A dataset file of gnntrain as the PyTorch peers want it: a rank's rows, the normalised adjacency, the halo."""
import h5py
import torch
import torch.distributed as dist


class Rows:
    """The block of rows of one rank, on the host: gnntrain's blocks (partition.method = "block")."""

    def __init__(self, path, rank=0, ranks=1):
        with h5py.File(path, "r") as f:
            if "weights" in f["graph"]:
                raise SystemExit(f"{path}: has edge weights; the peers take graphs without")
            self.ptr = torch.from_numpy(f["graph/indptr"][:])
            self.nodes = self.ptr.numel() - 1
            self.bounds = [self.nodes // ranks * r + min(r, self.nodes % ranks) for r in range(ranks + 1)]
            self.first, self.last = self.bounds[rank], self.bounds[rank + 1]
            begin, end = int(self.ptr[self.first]), int(self.ptr[self.last])
            self.col = torch.from_numpy(f["graph/indices"][begin:end])
            self.x = self._features(f)
            self.y = torch.from_numpy(f["node/labels"][self.first:self.last]).long()
            train = torch.from_numpy(f["split/train"][:])
            self.train = train[(train >= self.first) & (train < self.last)] - self.first
            self.train_nodes = train.numel()
            self.arcs, self.classes = int(f.attrs["num_edges"]), int(f.attrs["num_classes"])
        self.own, self.features = self.last - self.first, self.x.shape[1]

    def _features(self, f):
        node = f["node/features"]
        if isinstance(node, h5py.Dataset):
            return torch.from_numpy(node[self.first:self.last])
        ptr = torch.from_numpy(node["indptr"][self.first:self.last + 1])
        begin, end = int(ptr[0]), int(ptr[-1])
        x = torch.zeros(self.last - self.first, int(f.attrs["num_features"]))
        row = torch.repeat_interleave(torch.arange(self.last - self.first), ptr[1:] - ptr[:-1])
        x[row, torch.from_numpy(node["indices"][begin:end]).long()] = torch.from_numpy(node["data"][begin:end])
        return x


def entries(rows, device):
    """Row (counted from the rank's first) and global column of each entry of A + I; 1 / sqrt(degree) of all nodes."""
    ptr, col = rows.ptr.to(device), rows.col.to(device).long()
    own = torch.arange(rows.own, device=device)
    row = torch.repeat_interleave(own, (ptr[1:] - ptr[:-1])[rows.first:rows.last])
    other = col != row + rows.first
    degree = ptr[1:] - ptr[:-1] + 1
    if not bool(other.all()):
        if rows.own < rows.nodes:
            raise SystemExit("stored self loops: compared on one rank only")
        row, col = row[other], col[other]
        degree = torch.bincount(row, minlength=rows.nodes) + 1
    return torch.cat([row, own]), torch.cat([col, own + rows.first]), degree.double().rsqrt()


def compressed(row, col, value, size):
    ptr = torch.zeros(size[0] + 1, dtype=torch.int32, device=row.device)
    ptr[1:] = torch.bincount(row, minlength=size[0]).cumsum(0)
    return torch.sparse_csr_tensor(ptr, col.int(), value, size=size)


class Shard:
    """D^-1/2 (A + I) D^-1/2 of a rank's rows, columns numbered [own | halo], and the exchange of the rows that other
    ranks need. `split`: own and halo columns apart, so that the own part runs while rows are in flight."""

    def __init__(self, rows, device, dtype, split=False):
        row, col, scale = entries(rows, device)
        self.own, self.device, self.split = rows.own, device, split
        inside = (col >= rows.first) & (col < rows.last)
        halo = torch.unique(col[~inside])
        self.halo, width = halo.numel(), rows.own + halo.numel()
        local = torch.where(inside, col - rows.first, rows.own + torch.searchsorted(halo, col))
        key = (row * width + local).sort().values
        row, local = torch.div(key, width, rounding_mode="floor"), key % width
        names = torch.cat([torch.arange(rows.first, rows.last, device=device), halo])
        value, inside = (scale[row + rows.first] * scale[names[local]]).to(dtype), local < rows.own
        del key, col
        self.exchanged = rows.own < rows.nodes
        if not self.exchanged or not split:
            self.matrix = compressed(row, local, value, (rows.own, width))
        else:
            self.matrix = compressed(row[inside], local[inside], value[inside], (rows.own, rows.own))
            self.rest = compressed(row[~inside], local[~inside] - rows.own, value[~inside], (rows.own, self.halo))
        if self.exchanged:
            self._plan(rows, halo)

    def _plan(self, rows, halo):
        ends = torch.tensor(rows.bounds[1:], device=self.device)
        wanted = torch.bincount(torch.bucketize(halo, ends, right=True), minlength=len(rows.bounds) - 1)
        asked = torch.empty_like(wanted)
        dist.all_to_all_single(asked, wanted)
        self.recv, self.send = wanted.tolist(), asked.tolist()
        ids = torch.empty(sum(self.send), dtype=torch.long, device=self.device)
        dist.all_to_all_single(ids, halo, self.send, self.recv)
        self.send_rows = ids - rows.first

    def aggregate(self, h):
        if not self.exchanged:
            return self.matrix @ h
        if not self.split:
            both = h.new_empty(self.own + self.halo, h.shape[1])
            both[:self.own] = h
            dist.all_to_all_single(both[self.own:], h[self.send_rows], self.recv, self.send)
            return self.matrix @ both
        tail = h.new_empty(self.halo, h.shape[1])
        work = dist.all_to_all_single(tail, h[self.send_rows], self.recv, self.send, async_op=True)
        own = self.matrix @ h
        work.wait()
        return torch.addmm(own, self.rest, tail)
