import { expect, test } from "vitest";
import {
  ago,
  bdp,
  count,
  duration,
  packets,
  percent,
  plain,
  precise,
  rate,
  share,
  size,
  spellNumber,
  wait,
  zone,
} from "./units";

test.each([
  [rate(622_080_000), "622.1 Mbit/s"],
  [rate(622e6), "622 Mbit/s"],
  [rate(999_990_000), "1 Gbit/s"],
  [rate(0), "0 bit/s"],
  [rate(512), "512 bit/s"],
  [duration(0.3), "300 ms"],
  [duration(0.000_05), "50 µs"],
  [duration(60), "60 s"],
  [duration(0), "0 s"],
  [size(23_325_000), "23.32 MB"],
  [size(1500), "1.5 KB"],
  [packets(15_550), "15,550 packets"],
  [packets(1), "1 packet"],
  [packets(23.456), "23.46 packets"],
  [rate(633_800, 95e6), "0.6338 Mbit/s"],
  [rate(0, 95e6), "0 Mbit/s"],
  [bdp(1), "1 BDP"],
  [share(0.954), "95.4 %"],
  [share(1), "100 %"],
  [share(1e-5), "1e-5"],
  [share(0), "0 %"],
  [percent(7.28e-4), "0.0728 %"],
  [percent(0.2), "20 %"],
  [percent(0), "0 %"],
  [percent(1e-7), "1e-5 %"],
  [zone(0), "UTC"],
  [zone(120), "UTC+2"],
  [zone(-210), "UTC−3:30"],
  [zone(345), "UTC+5:45"],
  [spellNumber("1e-05"), "1e-5"],
  [spellNumber("0.00001"), "1e-5"],
  [spellNumber("2.50e-06"), "2.5e-6"],
  [spellNumber("1e-3"), "0.001"],
  [spellNumber("1e6"), "1000000"],
  [spellNumber("0"), "0"],
  [spellNumber("0.10"), "0.10"],
  [spellNumber("40 ms"), "40 ms"],
  [spellNumber("cubic"), "cubic"],
  [spellNumber("1e99"), "1e99"],
  [plain(0.99996), "1"],
  [plain(1234.5), "1235"],
  [count(12_345), "12,345"],
  [wait(0.25), "250 ms"],
  [wait(3.21), "3.2 s"],
  [wait(95), "1 min 35 s"],
  [wait(7320), "2 h 2 min"],
  [rate(null), "–"],
  [rate(Number.NaN), "–"],
])("%s", (written, expected) => {
  expect(written).toBe(expected);
});

test("how long ago", () => {
  const now = Date.parse("2031-05-17T09:00:00Z");
  expect(ago("2031-05-17T08:59:30Z", now)).toBe("just now");
  expect(ago("2031-05-17T08:56:00Z", now)).toBe("4 min ago");
  expect(ago("2031-05-17T04:00:00Z", now)).toBe("5 h ago");
  expect(ago("2031-05-14T09:00:00Z", now)).toBe("3 d ago");
  expect(ago(null, now)).toBe("–");
});

test.each([
  [18_423_700, 17_223_700, 19_623_700, 18_400_000],
  [18_423_700, 18_423_600, 18_423_800, 18_423_700],
  [0.123456, 0.1134, 0.1335, 0.123],
  [5, 5, 5, 5],
])("%f is as precise as its interval from %f to %f", (value, low, high, right) => {
  expect(precise(value, low, high)).toBeCloseTo(right, 9);
});
