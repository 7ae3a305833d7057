"""A conditional sequence VAE: a question and a latent code generate an answer."""

import torch
from torch import nn
from torch.nn import functional

from demo.tasks import END, N_TOKENS, PAD, START
from traincost.estimation.compute import flops_from_multiply_adds


class SequenceVAE(nn.Module):
    """GRU encoder, posterior q(z | question, answer), prior p(z | question), GRU decoder.

    Sequences are integer tensors of shape (batch, length), padded with `PAD`.
    """

    def __init__(self, hidden=96, latent=16):
        super().__init__()
        self.embedding = nn.Embedding(N_TOKENS, 32, padding_idx=PAD)
        self.encoder = nn.GRU(32, hidden, batch_first=True)
        self.posterior = nn.Linear(2 * hidden, 2 * latent)
        self.prior = nn.Linear(hidden, 2 * latent)
        self.bridge = nn.Linear(hidden + latent, hidden)
        self.decoder = nn.GRU(32, hidden, batch_first=True)
        self.readout = nn.Linear(hidden, N_TOKENS)

    def forward_flop(self, question_length, answer_length):
        """Return FLOP of one forward pass of one example: two for each multiply-add.

        Matrix products only: of a GRU step 3 h (i + h) multiply-adds, of a linear layer one a
        weight. Counted by hand, since torch's counter knows no GRU.
        """
        inputs, hidden = self.encoder.input_size, self.encoder.hidden_size
        step = 3 * hidden * (inputs + hidden)
        steps = question_length + 2 * answer_length  # the answer is encoded and decoded
        layers = (self.posterior, self.prior, self.bridge)
        multiply_adds = step * steps + sum(layer.weight.numel() for layer in layers)
        multiply_adds += answer_length * self.readout.weight.numel()
        return flops_from_multiply_adds(multiply_adds)

    def encode(self, sequence):
        """Return the last hidden state, (batch, hidden)."""
        return self.encoder(self.embedding(sequence))[1][0]

    def latent_codes(self, question, answer):
        """Return posterior and prior, each a mean and a log variance of (batch, latent)."""
        asked = self.encode(question)
        posterior = self.posterior(torch.cat([asked, self.encode(answer)], dim=1))
        return posterior.chunk(2, dim=1), self.prior(asked).chunk(2, dim=1), asked

    def losses(self, question, answer, token_weight):
        """Return reconstruction (cross-entropy a token) and KL divergence, both means.

        With `token_weight` w, a token counts 1 + w times its position from the end, so that
        the low-order characters of an answer, the hard ones, weigh more.
        """
        (mean, log_variance), (prior_mean, prior_log_variance), asked = self.latent_codes(question, answer)
        code = mean + torch.randn_like(mean) * (0.5 * log_variance).exp()
        state = torch.tanh(self.bridge(torch.cat([asked, code], dim=1)))[None]
        start = torch.full_like(answer[:, :1], START)
        shifted = torch.cat([start, answer[:, :-1]], dim=1)
        logits = self.readout(self.decoder(self.embedding(shifted), state)[0])
        per_token = functional.cross_entropy(logits.transpose(1, 2), answer, reduction="none")
        weight = (answer != PAD).float()
        if token_weight:
            weight = weight * (1 + token_weight * torch.linspace(0, 1, answer.shape[1]))
        divergence = 0.5 * (
            prior_log_variance
            - log_variance
            + (log_variance.exp() + (mean - prior_mean) ** 2) / prior_log_variance.exp()
            - 1
        ).sum(dim=1)
        return (per_token * weight).sum() / weight.sum(), divergence.mean()

    @torch.no_grad()
    def generate(self, question, max_length):
        """Answer freely from a sample of the prior, a character at a time.

        Stops early once every sequence of the batch has ended. Returns (batch, length).
        """
        asked = self.encode(question)
        mean, log_variance = self.prior(asked).chunk(2, dim=1)
        code = mean + torch.randn_like(mean) * (0.5 * log_variance).exp()
        state = torch.tanh(self.bridge(torch.cat([asked, code], dim=1)))[None]
        token = torch.full((len(question), 1), START)
        ended = torch.zeros(len(question), dtype=torch.bool)
        generated = []
        for _ in range(max_length):
            output, state = self.decoder(self.embedding(token), state)
            token = self.readout(output).argmax(dim=2)
            token[ended] = PAD
            generated.append(token)
            ended |= token[:, 0] == END
            if ended.all():
                break
        return torch.cat(generated, dim=1)
