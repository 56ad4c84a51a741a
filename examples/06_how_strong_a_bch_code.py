"""How strong must a BCH code be for flash at a raw bit error rate, and is the formula right?

The binomial tail gives the answer to nine digits. The decoder is then run at an error rate at which failures can be
counted.
"""

from softsense import bench, codes

print("raw bit error rate   errors corrected   parity (bytes)   for 4 KiB of data and an UBER of 1e-15")
for rber in (1e-4, 3e-4, 1e-3, 2e-3, 3e-3):
    least = codes.minimum_correctable(4096 * 8, rber)
    print(f"{rber:18g} {least.correctable:18} {least.parity_bits // 8:16}")

# A code small enough to fail while we watch: 512 bits of data, five errors corrected.
small = codes.bch_parity(data_bits=512, correctable=5)
name = f"bch:m={small.field_bits},t={small.correctable},k={small.data_bits}"
for rber in (0.004, 0.008):
    reckoned = codes.failure_probability(small.codeword_bits, small.correctable, rber)
    counted = bench(name, f"bsc:{rber}", frames=400_000)
    print(
        f"{name} at {rber}: {reckoned:.4f} reckoned; of {counted['frames']:,} frames {counted['frame_errors']} failed, "
        f"which is {counted['fer_lo']:.4f} to {counted['fer_hi']:.4f}"
    )
