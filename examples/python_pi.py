"""What examples/python-pi.ts calls: nothing of Shoal is needed here."""

import random


def throw_darts(points, seed):
    numbers = random.Random(seed)
    return sum(numbers.random() ** 2 + numbers.random() ** 2 <= 1 for _ in range(points))


class Tally:
    def __init__(self):
        self.hits = 0
        self.points = 0

    def add(self, hits, points):
        self.hits += hits
        self.points += points

    def estimate(self):
        return round(4 * self.hits / self.points, 4)
