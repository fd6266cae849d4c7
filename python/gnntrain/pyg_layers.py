"""The same convolutions by PyTorch Geometric."""
from gnntrain.error import Error, needed

nn = needed("torch_geometric.nn", "to_pyg", "torch_geometric")


class Layers:
    """What modules.py builds a net of. settings: section [model] of the configuration."""

    def __init__(self, settings):
        self.settings = settings
        if settings["type"] == "gcn" and settings["norm_edges"] != "both":
            raise Error("GCNConv scales edges by the degrees of both ends, and model.norm_edges is "
                        f"\"{settings['norm_edges']}\"; to_torch has it")
        if settings["type"] == "sage" and settings["aggregator"] not in ("mean", "sum"):
            raise Error(f"SAGEConv has no aggregator like model.aggregator = \"{settings['aggregator']}\"; to_torch has it")

    def arguments(self, edge_index, edge_weight, x):
        """What a convolution takes behind x."""
        if edge_weight is None:
            return (edge_index,)
        if self.settings["type"] not in ("gcn", "gcnii"):
            raise Error("of these layers of PyTorch Geometric only GCNConv and GCN2Conv take edge weights")
        return (edge_index, edge_weight)

    def gcn(self, width, out, bias):
        return nn.GCNConv(width, out, bias=bias)

    def sage(self, width, out, bias, pooled=None):
        return nn.SAGEConv(width, out, aggr=self.settings["aggregator"], bias=bias)

    def gat(self, width, out, heads, concat, bias):
        return nn.GATConv(width, out, heads, concat=concat, dropout=self.settings["dropout_attention"], bias=bias)

    def gin(self, mlp):
        return nn.GINConv(mlp, eps=self.settings["eps"], train_eps=self.settings["learn_eps"])

    def gcnii(self, width, layer, share):
        return nn.GCN2Conv(width, self.settings["alpha"], self.settings["lambda"], layer)
