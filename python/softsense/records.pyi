"""Types of the fields of configurations and of results, written by `make schema` from what the core says."""

from typing import Any, Literal, overload

class Record(dict[str, Any]): ...

@overload
def read(name: Literal["Config"], text: str) -> Config: ...
@overload
def read(name: Literal["Summary"], text: str) -> Summary: ...
@overload
def of(name: Literal["Config"], values: dict[str, Any]) -> Config: ...
@overload
def of(name: Literal["Summary"], values: dict[str, Any]) -> Summary: ...

class AdaptiveSpec(Record):
    """Code rates by age, and the flash that they are for. Source: S. Korkotsides, T. Antonakopoulos, "The effect of
    using multiple code rates on NVM-based storage systems", 2017, section III.
    """
    codewords_per_page: int
    """Codewords of a page. Each holds as many mapping units as the rate of its block leaves room for."""
    most_beyond: float
    """Largest share of the host's codeword reads whose raw bit error rate is beyond the grid of their table, so that
    their outcome is a guess from its nearest point. A run with more ends with an error.
    """
    rates: list[RateSpec]
    """The rates in the order of their ages. `softsense lifetime` finds them."""
    rber: RberModel
    """Raw bit error rate by age."""
    switch: RateSwitch
    """Rule for the change from one rate to another, which happens when a block is erased."""
    variation: Variation
    """Differences between chips, blocks and pages."""

class Addresses(Record):
    """The distribution of the addresses of requests. Addresses are blocks of `align_bytes`."""
    zipf: AddressesZipf | None
    """The block of rank k has a probability proportional to k^-exponent; a permutation that depends on the seed
    scatters hot blocks over the footprint.
    """
    hot_cold: AddressesHotCold | None
    """The first blocks of the footprint are hot; all hot blocks are equally likely, and so are all others."""

class AddressesHotCold(Record):
    """The first blocks of the footprint are hot; all hot blocks are equally likely, and so are all others."""
    hot_fraction: float
    """The share of blocks that are hot."""
    hot_share: float
    """The probability that a request goes to a hot block."""

class AddressesZipf(Record):
    """The block of rank k has a probability proportional to k^-exponent; a permutation that depends on the seed
    scatters hot blocks over the footprint.
    """
    exponent: float
    """The exponent; 0 is uniform, and real workloads have about 0.8 to 1.2."""

class AgedBchSpec(Record):
    """A BCH code, and the age up to which blocks use it."""
    codeword_bytes: int
    """Data of a codeword, bytes: a mapping unit, or an equal part of one."""
    correctable: int
    """Errors that the code corrects."""
    to_pe_cycles: int
    """P/E cycles of a block up to which it uses this code; the last code is used beyond this age, too."""

class ArbitrationScheme(Record):
    """The rule that says whose turn it is."""
    weighted_round_robin: ArbitrationSchemeWeightedRoundRobin
    """Urgent queues go first. Classes share what urgent queues leave, in rounds in which each class has as many
    commands fetched as its weight says. Queues of a class take turns.
    """

class ArbitrationSchemeWeightedRoundRobin(Record):
    """Urgent queues go first. Classes share what urgent queues leave, in rounds in which each class has as many
    commands fetched as its weight says. Queues of a class take turns.
    """
    high_weight: int
    """Number of commands of `high` queues in a round."""
    low_weight: int
    """Number of commands of `low` queues in a round."""
    medium_weight: int
    """Number of commands of `medium` queues in a round."""

class ArbitrationSpec(Record):
    """The rule by which the controller chooses the queue whose command it fetches next. Source: NVM Express Base
    Specification 2.0, 3.4.4 (1.4: 4.13). The turn of a queue is the standard's arbitration burst at `weight` 1.
    """
    burst: int
    """Largest number of commands that are fetched from a queue in its turn, at `weight` 1."""
    fetched_commands: int
    """Largest number of commands that have been fetched and have not completed. Further commands wait in their
    submission queues. A device that takes in all commands at once leaves arbitration nothing to choose.
    """
    scheme: ArbitrationScheme
    """Round robin among all queues, or weighted round robin among classes."""

class ArrivalState(Record):
    """A state of a Markov-modulated Poisson process."""
    mean_dwell_us: float
    """Mean time that the state lasts, us."""
    requests_per_s: float
    """Rate of arrivals in the state, requests per second; 0 for none."""

class Arrivals(Record):
    """The arrival process of requests."""
    poisson: ArrivalsPoisson | None
    """A Poisson process: independent, exponentially distributed gaps. The first request arrives at 0."""
    fixed: ArrivalsFixed | None
    """Equal gaps. The first request arrives at 0."""
    markov_modulated: ArrivalsMarkovModulated | None
    """A Markov-modulated Poisson process (MMPP): bursts. Arrivals are Poisson with the rate of the current state. A
    state lasts for an exponentially distributed time, and all others are equally likely to follow it. The first
    request arrives at 0.
    """

class ArrivalsFixed(Record):
    """Equal gaps. The first request arrives at 0."""
    requests_per_s: float
    """Rate in requests per second."""

class ArrivalsMarkovModulated(Record):
    """A Markov-modulated Poisson process (MMPP): bursts. Arrivals are Poisson with the rate of the current state. A
    state lasts for an exponentially distributed time, and all others are equally likely to follow it. The first
    request arrives at 0.
    """
    states: list[ArrivalState]
    """The states, 2 to 64."""

class ArrivalsPoisson(Record):
    """A Poisson process: independent, exponentially distributed gaps. The first request arrives at 0."""
    requests_per_s: float
    """Mean rate in requests per second."""

class BackgroundWork(Record):
    """Work of planes for one cause, up to the last completion."""
    array_s: float
    """Busy time of all planes (or dies whose planes take turns) for this cause, s. In rounds it includes the time for
    which a unit waits for the others of its round.
    """
    array_share: float | None
    """Share of this cause in the busy time of planes; `null` where planes were never busy."""
    cause: Literal["host"] | Literal["translation"] | Literal["garbage_collection"] | Literal["wear_levelling"] | Literal["read_reclaim"] | Literal["refresh"] | Literal["scrub"] | Literal["folding"] | Literal["read_ahead"] | Literal["parity"] | Literal["recovery"] | Literal["bad_block"]
    """The cause."""
    codewords: int
    """Codewords programmed in these pages."""
    erases: int
    """Blocks erased."""
    page_reads: int
    """Pages read; a page counts once, however often it was sensed."""
    programs: int
    """Pages programmed."""
    write_amplification: float | None
    """Codewords programmed over those that the host has written to flash: the cause's part of write amplification;
    `null` without writes.
    """

class BadBlocksSpec(Record):
    """Bad blocks, and the spare blocks of a plane that take their place: `{ spare_blocks_per_plane = 40, factory_share
    = 0.01 }`. The FTL sees only blocks that work; a table below the FTL maps them to blocks of the chip. Source: of
    spares of the same plane that replace blocks from the factory and later ones, Micron, "Bad Block Management in
    NAND Flash Memory", technical note TN-29-59.
    """
    erase_failure: EraseFailureSpec | None
    """Failures of erases, which become more frequent as blocks wear. Without this field no erase fails."""
    factory_share: float
    """Share of blocks that are bad from the factory. Each block of a plane, spares among them, is bad before the run
    with this probability, drawn from the seed.
    """
    program_failure: ProgramFailureSpec | None
    """Failures of programs of pages, which become more frequent as blocks wear. Without this field no program fails."""
    spare_blocks_per_plane: int
    """Spare blocks of each plane, in addition to `geometry.blocks_per_plane` and at most as many. Spares hold no data
    before they replace a bad block, and are no part of over-provisioning.
    """

class BadBlocksSummary(Record):
    """Bad blocks, and the spares that take their place."""
    codewords_programmed_again: int
    """Codewords whose program failed, and which were programmed again or are in the controller's memory."""
    factory: int
    """Blocks that are bad from the factory, spares among them."""
    failed_programs: int
    """Programs of pages that failed."""
    fewest_spares_of_plane: int
    """Spares that are left in the plane that has the fewest."""
    grown: int
    """Blocks in which an erase or a program has failed in the run, and which were replaced by spares or retired."""
    grown_by_programs: int
    """Grown bad blocks in which a program has failed."""
    retired: int
    """Blocks that are no longer written, as their plane had no spare left. Blocks that are erased together count as
    one.
    """
    spares_left: int
    """Spares that are left at the end, in all planes."""
    to_be_replaced: int
    """Blocks in which a program has failed, but which still hold data."""

class BchDecoderSpec(Record):
    """A circuit that decodes BCH codes in three stages: syndromes, key equation, search for roots. A codeword without
    errors leaves after the first stage. Source: S. Lin, D. Costello, "Error Control Coding", 2004, chapter 6, the
    stages; D. Sarwate, N. Shanbhag, "High-speed architectures for Reed-Solomon decoders", 2001, the key equation
    without inversions; Y.-M. Lin et al., "A MPCN-based parallel architecture in BCH decoders for NAND flash memory
    devices", 2011, several bits of syndromes and search a cycle.
    """
    clock_mhz: float
    """Clock of the circuit, MHz."""
    engine_correctable: int | None
    """Number of errors t that is corrected by the code for which the whole circuit is used. The hardware is then
    fixed: codewords of weaker codes are decoded side by side, as many as fit, and those of stronger codes with
    fewer bits per cycle. Without this field the hardware grows with the code, and a codeword uses all of it.
    """
    key_equation_multipliers: int
    """Multipliers for the key equation, which takes 3 (t + 1) products in each of t steps."""
    search_bits_per_cycle: int
    """Positions of the codeword that the search for roots tries in one cycle."""
    syndrome_bits_per_cycle: int
    """Bits of the codeword that the syndromes process in one cycle."""

class BchSpec(Record):
    """BCH codes by age, and the flash that they are for. Parity that exceeds the out-of-band area takes space from the
    data. Source: S. Wang et al., "Lifetime Adaptive ECC in NAND Flash Page Management", DATE 2017, section III.
    """
    codes: list[AgedBchSpec]
    """The codes in the order of their ages. `softsense lifetime` finds these."""
    exact: bool
    """Whether every codeword that is read is really encoded, corrupted and decoded. Otherwise its outcome is drawn
    from the binomial tail, which gives the same results except for undetected errors.
    """
    oob_bytes: int
    """Out-of-band area of a page, in bytes per mapping unit that fits the page."""
    rber: RberModel
    """Raw bit error rate by age."""
    variation: Variation
    """Differences between chips, blocks and pages."""

class BusSchedulingSummary(Record):
    """Counts of how the schedule chose among transfers that waited for a bus."""
    chosen: int
    """Transfers that had waited for their bus when they began."""
    had_waited_enough: int
    """Chosen transfers that had been passed over as often as is allowed."""
    most_passed_over: int
    """Most times that a chosen transfer had been passed over."""

class BusSpec(Record):
    """Timing of the channel buses."""
    command_us: float
    """Time of the command and address cycles of a sensing, a program or an erase, us. The bus carries them before the
    array begins. With 0 they take no time.
    """
    first: Literal["first_come"] | Literal["commands"] | Literal["read_data"]
    """The kind of waiting operation that a bus serves first."""
    transfer_extra_level_us: float
    """Time to transfer the data that one extra level adds to a codeword, us."""
    transfer_us: float
    """Time to transfer one codeword, as hard decisions or to be programmed, us."""

class BypassSpec(Record):
    """Codewords that need no decoder: those without errors, as their syndrome shows, or those with few errors, which
    an inner code corrects.
    """
    codeword_bits: int
    """Bits of a codeword in flash, data and parity."""
    errors: int
    """Most wrong bits of a codeword that needs no decoder. With 0 only codewords without errors need none."""

class CellSpec(Record):
    """A model of flash cells by threshold voltages; the default is LaLDPC's MLC. States are given by how they are
    programmed (`erased`, `verify_v`, `program_step_v`, `telegraph_noise`, `retention`), or by measurements
    (`measured`).
    """
    dwell: Dwell | None
    """The effect of rest between P/E cycles on retention. Without this field there is none."""
    erased: ErasedState | None
    """Threshold voltages of erased cells."""
    interference: Interference | None
    """Interference from programming the next wordline. Without this field there is none."""
    mapping: Literal["slc"] | Literal["mlc"] | Literal["tlc_2_3_2"] | Literal["tlc_1_2_4"] | Literal["qlc_1_2_4_8"] | Literal["qlc_4_3_4_4"] | Literal["qlc_2_3_5_5"] | Literal["qlc_1_2_6_6"]
    """The assignment of boundaries between states to pages."""
    measured: MeasuredStates | None
    """Measured states, in place of how states are programmed."""
    program_step_v: float | None
    """Step of incremental step pulse programming (ISPP), in volts."""
    pseudo_slc_state: int | None
    """State that stands for a zero, from 1, for cells that hold only one bit (pseudo-SLC). The erased state stands for
    a one. The fields `mapping` and the states are then those of the same cells when they hold all their bits.
    """
    read_disturb: ReadDisturb | None
    """The disturbance by reads of other wordlines of the block. Without this field there is none."""
    references: References
    """The controller's assumptions about the positions of states."""
    retention: Retention | None
    """Charge loss of programmed cells."""
    shortened_sensing: ShortenedSensing | None
    """The noise of sensing for less than the whole time. Without this field sensing cannot be shortened."""
    telegraph_noise: TelegraphNoise | None
    """Random telegraph noise."""
    verify_v: list[float] | None
    """The verify voltage of each programmed state, ascending, in volts."""

class CodeRatesSummary(Record):
    """Code rates of blocks at the end."""
    blocks: list[int]
    """Blocks (superblocks, with interleaved codewords) that use each rate, from the rate of the start on."""
    to_stronger: int | None
    """Erases after which a block had a stronger code because of its decodes; `null` where rates follow P/E cycles."""
    to_weaker: int | None
    """Erases after which a block had a weaker code because of its decodes; `null` where rates follow P/E cycles."""

class CodewordReads(Record):
    """Codewords that the host read."""
    attempts: int
    """Attempts at all codewords."""
    beyond_table: int | None
    """Codewords whose raw bit error rate is beyond their decode table, so that their outcome is a guess from the
    table's nearest point; `null` without decode tables.
    """
    count: int
    """Codewords read from flash."""
    crossing: int
    """Codewords that lie in two pages of a block, because parity takes room of the data."""
    from_controller: int
    """Codewords read from controller memory, where they were buffered or on their way to flash."""
    interleaved: int
    """Codewords that were divided among several chips."""
    level_histogram: list[int]
    """Codewords by the level of their last attempt: 1, 2, ..."""
    mean_us: float | None
    """Mean time from the request for a codeword to its decoding, us; the parts of `time_us` add up to it."""
    service_us: float | None
    """Mean time of the sensing, transfer and decoding of all attempts, us: without waiting, look-ahead and translation
    pages.
    """
    slowest: list[SlowestReads]
    """The parts of the time for all reads, and for the slowest hundredth and thousandth; empty where nothing was read.
    """
    soft_starts: int
    """Codewords whose first attempt was above level 1."""
    time_us: ReadTimeUs
    """The parts of this time."""
    uncorrectable: int
    """Codewords that no level decoded."""
    uncorrectable_in_background: int
    """Codewords that garbage collection or a read-modify-write could not decode."""
    undetected: int | None
    """Codewords that were decoded to another word than was written, which the controller does not notice; `null`
    unless `reliability` is `exact`.
    """
    unmapped: int
    """Codewords that were never written, so that there was nothing to read."""

class Config(Record):
    """The config of a run, except for its trace. The defaults are those of `configs/mlc-25nm.toml`, without its
    workload.
    """
    bus: BusSpec
    """Timing of the channel buses."""
    decoder: DecoderSpec
    """The decoders."""
    encoder: EncoderSpec | None
    """The encoders. Without this field encoding takes no time."""
    energy: EnergySpec
    """Energy of operations."""
    flash: FlashSpec
    """Timing of the flash array."""
    ftl: FtlSpec
    """The flash translation layer and its garbage collection."""
    geometry: GeometrySpec
    """The numbers of channels, chips, planes, blocks and pages, and the size of a codeword."""
    host: HostSpec
    """The way in which requests are issued, the host link, and the controller's memory."""
    interconnect: InterconnectSpec | None
    """Links and a switch between SSDs and a pool of decoders or encoders. Without this field codewords cross in no
    time.
    """
    measurement: MeasurementSpec | None
    """The part of the run that is measured. Without this field the whole run is measured."""
    power_loss: PowerLossSpec | None
    """Losses of power. Without this field power does not fail."""
    precondition: PreconditionSpec
    """The state in which the device starts."""
    read: ReadSpec
    """The read policy, by which codewords are sensed and retried."""
    reliability: ReliabilitySpec
    """The model that decides whether reads succeed: `"perfect"`, `{ fixed = ... }`, `{ table = ... }`, `{ adaptive =
    ... }`, `{ bch = ... }` or `{ exact = ... }`.
    """
    scheduling: SchedulingSpec | None
    """The schedule: the rules that choose which of the operations that wait for a busy unit goes next. Without this
    field reads of the host may go first, and all other operations are first come, first served.
    """
    seed: int
    """Seed of every random stream. The same seed gives the same run on every CPU."""
    workload: WorkloadSpec | None
    """The synthetic workload that is run when no trace is given."""

class CopybackSpec(Record):
    """Copyback: when data is moved, a page whose codewords are all valid is sensed into the register of its plane and
    programmed from there. Its errors are not corrected, and add up from copy to copy. Source: of the command
    sequence, ONFI 5.1, "Copyback Read" and "Copyback Program"; of errors that add up, D. Hong et al., "Improving
    SSD Performance Using Adaptive Restricted-Copyback Operations", NVMSA 2019.
    """
    ecc: Literal["none"] | Literal["check"]
    """The part of a page that the controller sees before the page is copied."""
    most_in_a_row: int
    """Number of copies in a row after which data goes through the controller, which corrects its errors."""

class CopybackSummary(Record):
    """Copyback: moving data within its plane."""
    pages: int
    """Pages copied."""
    share: float | None
    """Share of copied pages among all pages programmed with moved data; `null` where no data was moved."""

class DeadlinesSpec(Record):
    """Deadlines for reads of the host."""
    margin_us: float
    """Time before its deadline, us, from which on a read goes before all operations without so near a deadline. Among
    several such reads the one with the earliest deadline goes first.
    """
    only_near_suspend: bool | None
    """If true, only reads whose deadline is near suspend programs and erases, as `flash.suspend` describes; if false,
    all reads that go first do. Default: false.
    """
    read_us: float
    """The time after its arrival within which a read should complete, us. A tenant may have its own time,
    `read_deadline_us`.
    """

class DecodeTime(Record):
    """Time of one decode."""
    fixed_us: float | None
    """A fixed time, us."""
    per_iteration_us: float | None
    """A time for each decoding iteration, us. It needs a decode table with iterations, or real decodes of an LDPC code
    (`reliability.exact`).
    """
    bch: BchDecoderSpec | None
    """The time of a circuit that decodes the codes of `reliability.bch`."""
    ldpc: LdpcDecoderSpec | None
    """The time of a circuit that decodes LDPC codes: the cycles that the block rows of the code take, for each
    iteration.
    """

class DecoderPlacement(Record):
    """The number of decoders or encoders, and the channels or SSDs that share them. Source: S. Korkotsides, T.
    Antonakopoulos, "The effect of using multiple code rates on NVM-based storage systems", 2017.
    """
    per_channel: int | None
    """Number for each channel."""
    per_ssd: int | None
    """Number for all channels of an SSD together."""
    pool: int | None
    """Number for all channels of all SSDs together."""

class DecoderSpec(Record):
    """The decoders."""
    buffer_codewords: int | None
    """Number of codewords that may wait for the decoders of a channel, an SSD, or the pool. When all these places are
    taken, the next codeword keeps its bus until there is room. Without this field there is no bound.
    """
    bypass: BypassSpec | None
    """The bypass of codewords with few wrong bits, which go past the decoders. Without this field all codewords are
    decoded.
    """
    codewords_at_once: int
    """Number of codewords that a decoder decodes at the same time; each takes as long as it would take alone."""
    host_first: bool
    """If true, codewords that the host waits for are decoded before those of garbage collection, read reclaim and the
    map.
    """
    node_nm: float
    """Technology node of the circuits, nm. It sets their area, and their energy where `energy.decoder` is `circuit`."""
    placement: DecoderPlacement
    """The number of decoders, and the channels or SSDs that share them."""
    time: DecodeTime
    """Time of one decode."""

class DemandSpec(Record):
    """A demand-based FTL: the map in flash, and a cache of its entries. Source: A. Gupta, Y. Kim, B. Urgaonkar,
    "DFTL", ASPLOS 2009; read levels and eviction by level: Y. Du et al., "LaLDPC", MSST 2017.
    """
    admission: Literal["always"] | Literal["second_miss"] | str | None
    """The entries missed by a read that are cached: `"always"`, `"second_miss"` or a rule of your own,
    `"my_rules.py:Often"`. Entries of written codewords are always cached.
    """
    cache_bytes: int
    """Size of the mapping cache, bytes."""
    entry_bytes: int
    """Size of an entry in the cache and in translation pages, bytes."""
    eviction: Eviction
    """The entry that is evicted when room is needed for another one."""
    history_entries: int | None
    """Number of recently missed entries for which `admission` remembers how often they were missed. Default: as many
    as the cache has room for.
    """
    lower_after_reads: int
    """Number of reads in a row that succeed at once at the remembered level, after which one level less is tried. 0:
    never, as in the paper.
    """
    remember_levels: bool
    """If true, an entry remembers the level at which its codeword was last read, from which the next read starts."""
    remember_translation_levels: bool
    """If true, the directory of translation pages, which is always in memory, remembers a level for each translation
    page, too. The paper's directory does not.
    """

class DieFailureSpec(Record):
    """A die that fails: from an instant on it answers nothing. Its data is uncorrectable unless `ftl.parity` rebuilds
    it, and nothing more is written to the die.
    """
    at_s: float
    """Instant of the failure, in seconds of the run, from 0 on."""
    die: int
    """Number of the die, from 0 over channels, their chips and the dies of these, SSD by SSD: ((channel x chips) +
    chip) x dies + die.
    """

class DramSpec(Record):
    """The controller's DRAM behind one port, which carries one access after the other, first come, first served: data
    of reads and writes, data that is moved, and map entries. The time of these accesses replaces
    `host.controller_memory_us`.
    """
    access_us: float
    """The time of each access before its data, us, for opening a row and addressing a column. The port is busy during
    this time. Default: 0.
    """
    map_entry_bytes: int
    """Bytes of a map entry; 0 if the map is not in DRAM. Before a request begins, one entry for each of its codewords
    crosses the port, all of them in one access. Default: 4.
    """
    speed: DramSpeed
    """The speed of data at the port."""

class DramSpeed(Record):
    """The speed of data at the port of DRAM."""
    bandwidth_gb_per_s: float | None
    """Bandwidth for data, GB/s (10^9 bytes a second)."""
    bus: DramSpeedBus | None
    """A bus with a width and a transfer rate."""

class DramSpeedBus(Record):
    """A bus with a width and a transfer rate."""
    transfer_rate_mt_per_s: float
    """Transfers of `width_bits` bits, in millions a second, such as 1600 for DDR3-1600."""
    width_bits: int
    """Width of the bus in bits."""

class DramSummary(Record):
    """The controller's DRAM."""
    flash_bytes: int
    """Data that crossed the port from or to flash, whatever the cause, bytes."""
    gb_per_s: float
    """Rate of data through the port, GB/s."""
    host_bytes: int
    """Data that crossed the port from or to the host, bytes."""
    map_bytes: int
    """Map entries that crossed the port, bytes."""
    utilisation: float
    """The mean busy share of the port."""

class Dwell(Record):
    """The effect of rest between P/E cycles on cells: damage heals, and charge is lost more slowly. The effect of
    retention is multiplied by ```text 1 - slowdown_per_decade log10(hours / reference_hours) ``` Source of the
    form: Y. Luo, S. Ghose, Y. Cai, E. Haratsch, O. Mutlu, "HeatWatch: Improving 3D NAND Flash Memory Device
    Reliability by Exploiting Self-Recovery and Temperature Awareness", 2018. The numbers are parameters.
    """
    hours: float
    """Hours between the erase of a block and the one before, on average."""
    reference_hours: float
    """Hours between erases for the cells that were measured."""
    slowdown_per_decade: float
    """Share by which charge loss falls when the rest is ten times as long."""

class EncoderSpec(Record):
    """The encoders: every codeword of a page is encoded before the page goes to its chip."""
    buffer_codewords: int | None
    """Number of encoded codewords that may wait for their chip, for the encoders of a channel, an SSD, or the pool: at
    least the codewords of a page. When there is no room for all codewords of a page, its encoding waits. Without
    this field there is no bound.
    """
    host_first: bool
    """If true, pages of the host are encoded before those that garbage collection, read reclaim and the map write."""
    placement: DecoderPlacement
    """The number of encoders, and the channels or SSDs that share them."""
    time_us: float
    """Time to encode a codeword, us."""

class EncoderSummary(Record):
    """Encoders."""
    utilisation: float
    """Mean busy share of the encoders."""

class EnergySpec(Record):
    """Energy of operations, uJ: for a whole page in operations on pages, for one codeword in operations on codewords."""
    decode_uj: float
    """Energy of one attempt to decode a codeword where `decoder` is `constant`, uJ."""
    decoder: Literal["constant"] | Literal["circuit"]
    """Model of the energy of one attempt to decode a codeword."""
    erase_uj: float
    """Energy to erase a block, uJ."""
    predict_uj: float
    """Energy to predict whether a codeword will be decoded, uJ."""
    program_uj: float
    """Energy to program a page, including its transfer over the bus, uJ."""
    sense_extra_level_uj: float
    """Energy to sense one extra level of a page, uJ. A sensing that a RESET cuts short costs energy in proportion to
    the time that it took.
    """
    sense_uj: float
    """Energy to sense a page with hard decision, uJ."""
    slc_program_uj: float | None
    """Energy to program a page of the SLC cache, uJ. Without this field it is `program_uj`."""
    transfer_extra_level_uj: float
    """Energy to transfer the data that one extra level adds to a codeword, uJ."""
    transfer_uj: float
    """Energy to transfer a codeword to the controller, as hard decisions, uJ."""

class EnergySummary(Record):
    """Energy of operations, uJ."""
    background_uj: float
    """Energy of garbage collection and read reclaim: their reads, programs and erases."""
    cut_short_uj: float
    """Energy that was saved because a RESET cut sensings short."""
    decode_uj: float
    """Decodes."""
    erase_uj: float
    """Erases."""
    mean_read_uj: float | None
    """Mean energy of a host read; `null` without reads."""
    mean_request_uj: float | None
    """Energy of all operations over the number of completed requests; `null` without any."""
    mean_write_uj: float | None
    """Mean energy of a host write, including the reads of codewords that it covers in part, without garbage
    collection; `null` without writes.
    """
    program_uj: float
    """Programs, including the transfer of their data over the bus."""
    sense_extra_levels_uj: float
    """Sensing extra levels."""
    sense_uj: float
    """Sensing with hard decision."""
    total_uj: float
    """Sum of all operations."""
    transfer_uj: float
    """Transfers to decoders."""

class EraseFailureSpec(Record):
    """Failures of erases: by N P/E cycles an erase of a block has failed with the probability 1 - (1 - share)^((N /
    at_pe_cycles)^exponent), a Weibull distribution.
    """
    at_pe_cycles: int
    """P/E cycles by which an erase has failed in the share `share` of the blocks."""
    erase_us: float | None
    """Time of an erase that fails, us: chips try until the longest time that they allow. Without this field it takes
    as long as an erase that succeeds.
    """
    exponent: float
    """Exponent of the growth with P/E cycles. With 1 all erases fail equally often; with more, erases of old blocks
    fail more often.
    """
    share: float
    """Share of blocks in which an erase has failed by `at_pe_cycles`."""

class ErasedState(Record):
    """Threshold voltages of erased cells, which are normally distributed. Neither noise nor retention moves them."""
    mean_v: float
    """Mean, in volts."""
    sigma_v: float
    """Standard deviation, in volts."""

class Eviction(Record):
    """The entry of the mapping cache that is evicted when room is needed for another one."""
    segmented_lru: EvictionSegmentedLru | None
    """The least recently used entry among those that were used only once. Entries that were used again are protected,
    up to `protected_entries`; beyond that number the least recently used of them counts as used once.
    """
    lowest_level: EvictionLowestLevel | None
    """The least recently used entry among those with the lowest read level (LaLDPC, algorithm 1)."""

class EvictionLowestLevel(Record):
    """The least recently used entry among those with the lowest read level (LaLDPC, algorithm 1)."""
    fixed_entries: int
    """Number of most recently used entries that are never evicted."""

class EvictionSegmentedLru(Record):
    """The least recently used entry among those that were used only once. Entries that were used again are protected,
    up to `protected_entries`; beyond that number the least recently used of them counts as used once.
    """
    protected_entries: int
    """Largest number of protected entries."""

class ExactSpec(Record):
    """Real decodes: the flash whose codewords are read, the code they are written in, and its decoder."""
    code: str
    """A shipped code, any BCH code as `bch:m=15,t=57,k=31912`, or the file of an LDPC code beside the config. The code
    has as many data bits as a codeword of the device.
    """
    decoder: str
    """The decoder of an LDPC code, such as `min-sum` or `sum-product`; BCH codes have only one. BCH decoders and `bit-
    flipping` cannot use levels above 1.
    """
    llrs_for: Wear | None
    """The age for which references and LLRs are made, whatever the age of the cells. Without this field they are made
    for the age of each codeword.
    """
    max_iterations: int
    """Iterations after which the decoder of an LDPC code gives up."""
    placement: Placement
    """Placement of the reference voltages of soft sensing."""
    rber: RberModel
    """Raw bit error rate by age. With `threshold_voltage` pages of these cells are read; with any other model a read
    is of one boundary between two Gaussian states that has this raw bit error rate.
    """
    variation: Variation
    """Differences between chips, blocks and pages."""

class FlashSpec(Record):
    """Timing of the flash array."""
    bad_blocks: BadBlocksSpec | None
    """Bad blocks, and the spares that take their place. Without this field all blocks work for ever."""
    busy_unit: Literal["plane"] | Literal["die"] | Literal["chip"] | Literal["channel"]
    """The unit that does one array operation at a time: a plane, or a whole die, chip or channel. A channel as the
    unit is a gang of chips that share bus and control.
    """
    cache_program: bool | None
    """If true, the next page is loaded while the array programs (cache program). A page that is being loaded is
    programmed next, before reads that have arrived since.
    """
    cache_register: bool
    """If true, a plane can sense while its last page waits for the bus. Read policies that look ahead need this
    register. Planes of a die that take turns share one register.
    """
    cache_register_for: Literal["any_read"] | Literal["look_ahead"]
    """The operations that may use the cache register, where there is one."""
    copyback: CopybackSpec | None
    """Copyback: pages that are moved are copied within their plane, `{ ecc = "check", most_in_a_row = 3 }`. Without
    this field all data that is moved crosses the bus, and the controller corrects it.
    """
    die_failures: list[DieFailureSpec] | None
    """Dies that fail, `[{ at_s = 10.0, die = 3 }]`."""
    erase_us: float
    """Time to erase a block, us."""
    one_shot_program: bool | None
    """If true, the pages of a wordline, one of each page type, are programmed at once, after all of them have been
    loaded. The array takes the sum of their `program_us`. Pages of SLC blocks are programmed one by one.
    """
    page_types: list[PageTypeSpec]
    """The page types. Page i of a block has type i modulo their number. Where `reliability` has threshold voltages
    there is one type, or one for each page of a wordline: lower and upper for MLC; lower, centre and upper for TLC.
    """
    pe_cycles_per_erase: int | None
    """P/E cycles that an erase of the run counts as. With more than one, a run of hours goes through a life of years.
    Blocks then wear in steps of this size; nothing else is faster.
    """
    reset_us: float
    """Time for which a RESET that cuts a sensing short occupies the plane, us."""
    rounds: RoundsSpec | None
    """Busy units that begin together and wait for one another. Without this field each busy unit works by itself."""
    shared_sensing: bool
    """If true, codewords of a page that are read together share its sensing. If false, the page is sensed and
    transferred for one codeword after the other, as DiskSim's synchronous gangs do.
    """
    suspend: SuspendSpec | None
    """Suspension of programs and erases for reads that have priority. Without this field programs and erases are not
    suspended.
    """
    unit_queue: int | None
    """Number of operations that may wait for a busy unit. The next request waits at the host, with all requests behind
    it, while more operations wait at the unit where it reads, or first writes. Without this field there is no
    bound.
    """

class FtlSpec(Record):
    """The flash translation layer and its garbage collection."""
    allocation_pool: Literal["ssd"] | Literal["channel"] | Literal["chip"] | Literal["plane"]
    """The part of its SSD to which a write may go: the whole SSD (dynamic allocation), or only the channel, chip or
    plane to which its logical page belongs (static allocation). Logical pages are assigned to these in turn, in the
    order of `stripe`, of which they are the first levels.
    """
    gc_high_watermark_blocks: int
    """Number of free blocks of a plane at which its garbage collection ends."""
    gc_idle: GcIdleSpec | None
    """Garbage collection in idle time, `{ after_us = 10000.0, least_stale = 0.25 }`. Without this field there is none.
    """
    gc_low_watermark_blocks: int
    """Number of free blocks of a plane below which its garbage collection begins."""
    gc_pacing: GcPacing | None
    """The rule that says when garbage collection that has begun may work: `"at_once"`, `"preemptible"`, `{ paced = {
    moves_per_write = 4.0 } }`, `"throttle_writes"`, where writes keep its pace, or a rule of your own,
    `"my_rules.py:AtNight"`.
    """
    gc_reserve_blocks: int | None
    """The hard limit: with this number of free blocks of a plane or fewer its garbage collection works whatever
    `gc_pacing` says. It is 1 or more and below the low watermark.
    """
    interleaving: InterleavingSpec
    """Interleaving, which divides codewords among chips."""
    mapping: Mapping2
    """The place of the map of logical codewords."""
    over_provisioning: float
    """Share of the physical capacity that the user does not get. Pages of `parity` do not count as capacity. The share
    must leave each plane three blocks more than the high watermark, and the room that partly filled pages of
    several codewords may waste.
    """
    parity: ParitySpec | None
    """Parity across dies, `{ data_pages = 7 }`. Without this field there is none."""
    plane_choice: Literal["in_turn"] | Literal["most_free"] | str
    """The rule that chooses the plane of its pool to which a write goes: `"in_turn"`, `"most_free"` or a placement of
    your own, `"my_rules.py:Apart"`.
    """
    read_reclaim: ReadReclaimSpec | None
    """Read reclaim, which moves data before reads have disturbed it too much: `{ block = { reads = 54560 } }` or `{
    wordline = { effective_reads = [458304.0] } }`. Without this field there is none.
    """
    refresh: RefreshSpec | None
    """Refresh, which moves data before it is too old: `{ age_days = 90.0 }`. Without this field no data is moved
    because of its age.
    """
    scrub: ScrubSpec | None
    """Patrol scrub, which reads all data to find blocks that need refresh: `{ period_days = 7.0, refresh_above = {
    level = 1 } }`. Without this field there is none.
    """
    slc_cache: SlcCacheSpec | None
    """An SLC cache, `{ size = { static = { blocks = 8 } } }`. Without this field there is none."""
    stripe: list[Literal["channel"] | Literal["chip"] | Literal["die"] | Literal["plane"]]
    """The levels of parallelism over which consecutive page writes are spread, each level once. The level that changes
    fastest is the first.
    """
    time_scale: float | None
    """Seconds by which data ages in each second of the run. The periods of `refresh` and `scrub` become shorter by the
    same factor, so that work of months fits a run. The share of time that this work takes is larger than in life by
    the same factor.
    """
    victims: VictimSpec
    """The rule that chooses the block which garbage collection takes as its victim: `"greedy"`, `"fifo"`,
    `"cost_benefit"`, `{ random_greedy = { choices = 10 } }` or a rule of your own, `"my_rules.py:Oldest"`.
    """
    wear_levelling_spread: int | None
    """Static wear levelling: the difference in P/E cycles between blocks of a plane above which every other victim of
    garbage collection is the least worn block, whatever it holds. Without this field there is none.
    """
    whole_pages: bool
    """If true, logical codewords are written in aligned groups of as many as a page holds (superpages): a write of
    some of them writes all. `host.partial_write` says where the data of the others comes from.
    """

class GcIdleSpec(Record):
    """Garbage collection of a plane while the host is idle there."""
    after_us: float
    """Time for which no operation of the host has worked in the plane before collection begins, us."""
    least_stale: float
    """Smallest share of stale or empty places with which a block is collected in idle time."""

class GcPacing(Record):
    """The rule that says when garbage collection of a plane that has begun may work."""
    paced: GcPacingPaced
    """Collection moves a number of pages for each page that the host or the map programs in its plane. The number is
    zero at the low watermark, and grows in proportion to the free blocks missing below it.
    """

class GcPacingPaced(Record):
    """Collection moves a number of pages for each page that the host or the map programs in its plane. The number is
    zero at the low watermark, and grows in proportion to the free blocks missing below it.
    """
    moves_per_write: float
    """Pages moved for each page that is programmed when free blocks are at the reserve."""

class GcPacingSummary(Record):
    """Pacing of garbage collection."""
    at_reserve: int
    """Steps that collection took because free blocks were down to the reserve, whatever the rule said."""
    idle_blocks: int
    """Blocks that were collected because the host did not use their plane."""
    least_free_blocks: int | None
    """Fewest free blocks of a plane while the host was programming in it; `null` where the host programmed nothing."""
    mean_free_blocks: float | None
    """Mean number of free blocks of a plane while the host was programming in it, including the free share of the open
    block.
    """
    pauses: int
    """Number of times that a collection which had begun was told to pause."""

class GcSummary(Record):
    """Garbage collection."""
    blocks_reclaimed: int
    """Victim blocks."""
    blocks_to_level_wear: int
    """Victim blocks that were chosen to level wear."""
    free_blocks_at_end: int
    """Free blocks at the last completion."""
    free_blocks_at_start: int
    """Free blocks when the run, or its measured part, began."""
    least_erases: int
    """Erases of the block with the fewest, since the start of the run, whatever their cause."""
    mean_valid_fraction: float | None
    """Mean share of valid data in victim blocks when they were chosen."""
    most_block_reads: int | None
    """Most sensings of a block between two of its erases, all within the run; `null` where reads disturb no cells."""
    most_erases: int
    """Erases of the block with the most, since the start of the run, whatever their cause."""
    pacing: GcPacingSummary | None
    """Pacing of collection; absent where collection is not paced."""
    used_up_room: bool
    """Whether programs took at least 5 % of the free blocks, and more than a ninth of the blocks that erases freed.
    Then the drive was not in its steady state, and numbers of writes are those of a drive with room.
    """

class GeometrySpec(Record):
    """The numbers of SSDs, channels, chips, dies, planes, blocks and pages, and the size of a codeword."""
    blocks_per_plane: int
    """Blocks in a plane."""
    channels: int
    """Channels, each with one bus."""
    chips_per_channel: int
    """Chips on a channel."""
    codeword_bytes: int
    """User data of a codeword, bytes: a multiple of 512. A codeword is the unit that the FTL maps."""
    codewords_per_page: int
    """Codewords in a page."""
    dies_per_chip: int
    """Dies in a chip."""
    pages_per_block: int
    """Pages in a block."""
    planes_per_die: int
    """Planes in a die."""
    ssds: int
    """SSDs behind one controller, each with all channels, chips, dies, planes and blocks below."""

class GrowthSummary(Record):
    """Growth of response times with the run. It is reported where two conditions hold. The mean response grows from
    the first third of the requests to the second, and from the second to the third, by at least 1 % of the time
    that passes. And at least 100 requests are under way at once in the last third.
    """
    rate: float
    """Growth of the mean response over the time that passes, the smaller of the two steps: 1 - 1 / rho for rho times
    the load that can be served.
    """
    thirds_mean_us: list[float]
    """Mean response times of the three thirds of the requests, in the order in which they completed, us."""
    waiting: float
    """Mean number of requests under way at once in the last third, including those that wait at the host."""

class HostLinkSpec(Record):
    """The link between host and device: full duplex, one transfer after the other in each direction."""
    command_us: float
    """Time for which a command occupies the device's end of the link, us, one command after the other. The device
    takes in at most 1e6 / `command_us` commands a second, of any size. With 0 it takes in as many as the link
    carries.
    """
    latency_us: float
    """Time from the departure of the last byte to its arrival, us: for a command on its way to the device, and for
    data or a completion on its way to the host. The next transfer may leave meanwhile.
    """
    speed: LinkSpeed
    """The speed of data on the link, in each direction."""
    write_command_us: float | None
    """Time for which a command that writes occupies the device's end, us. Without this field it is `command_us`."""

class HostLinkSummary(Record):
    """The link between host and device."""
    commands: float
    """Mean busy share of the device's end of the link, which takes commands in."""
    gb_per_s: float
    """Rate of data in each direction of the link, GB/s."""
    to_device: float
    """Mean busy share of the direction to the device, which carries data that is written."""
    to_host: float
    """Mean busy share of the direction to the host, which carries data that was read."""

class HostSpec(Record):
    """The way in which requests are issued, and the controller's memory."""
    arbitration: ArbitrationSpec | None
    """The rule by which the controller chooses among the submission queues of tenants. Without this field it is round
    robin.
    """
    controller_memory_us: float
    """Time to move a codeword between host and controller memory, us, for buffered writes and for reads of data in
    that memory. The codewords of a request move one after the other.
    """
    dram: DramSpec | None
    """The controller's DRAM. Without this field any number of codewords move to and from memory at once, in
    `controller_memory_us` each, and no other access to memory takes time.
    """
    issue: Issue
    """The times at which requests are issued."""
    link: HostLinkSpec | None
    """The link to the host. Without this field data and commands take no time."""
    max_outstanding: int
    """The largest number of requests inside the device at once. Further requests wait at the host, and the wait counts
    in their response.
    """
    partial_write: Literal["read_modify_write"] | Literal["pad"] | Literal["merge"] | Literal["copy_back"]
    """The handling of a write that covers a mapped codeword in part."""
    read_ahead: ReadAheadSpec | None
    """Reading ahead of sequential reads, into the read buffer. Without this field pages are never read ahead."""
    read_buffer: ReadBufferSpec | None
    """A buffer in the controller's memory for decoded pages that were recently read for the host. Reading a codeword
    that is in the buffer takes `controller_memory_us`, also for a write that covers the codeword in part. Without
    this field no data that was read is kept.
    """
    reads_first: bool
    """If true, a plane serves waiting host reads before waiting programs and erases. Reads of garbage collection wait
    with the programs in any case.
    """
    serves_in_flight: bool
    """If true, a read gets data that is on its way to flash from the controller's memory. If false, the read waits for
    the program of that data, even where reads go first, and then reads the flash.
    """
    service: ServiceSpec | None
    """Time that a request takes in addition to its flash operations. Without this field there is none."""
    spread: Literal["round_robin"] | Literal["address"]
    """The rule that says on which of several SSDs a codeword lies."""
    tenants: list[TenantSpec] | None
    """Several users of the device, each with its own requests and submission queue, in place of `[workload]` or a
    trace.
    """
    write_buffer_bytes: int
    """Size of the write buffer in the controller, bytes; 0 for none. With a write buffer a write completes when the
    buffer has taken its data in.
    """
    write_buffer_power_protected: bool | None
    """If true, the content of the write buffer survives a loss of power. Flushes then complete at once, and writes
    with FUA when the buffer has taken them in.
    """
    write_buffer_replacement: Literal["full_page"] | Literal["lru"] | Literal["fifo"] | None
    """The rule that says which codewords the write buffer programs, and when."""
    write_buffer_watermarks: WatermarksSpec | None
    """The fill levels at which a write buffer with `lru` or `fifo` programs before it is full. Without this field it
    programs only when it is full.
    """
    write_pacing: WritePacingSpec | None
    """The pace at which writes are let on from the link to the buffer or the flash. Without this field writes go on as
    they come.
    """

class Inference(Record):
    """Inference of references: a controller, or the die, measures at one boundary between states with the chip's
    default references, and infers where the references of all boundaries belong. The measured quantity d says how
    many more cells of the lower of the two states read as the upper one than the other way round: ```text d =
    P(lower state reads above) - P(upper state reads below) ``` in shares of a state's cells. It is negative where
    the best reference is below the default one. The offset of the measured boundary is a polynomial in d, and the
    offsets of the others follow it linearly. Both are fitted once for a batch of chips. There are two ways to
    measure d. *Sentinels* are cells that are programmed to the two states, half of them to each. They are known, so
    each error is seen. The *share of ones* counts all cells below the boundary in data that is scrambled; it is
    (boundary + 1) / states if all cells are read right. Both counts are random. Source: Q. Li et al., "Shaving
    Retries with Sentinels for Fast Read over High-Density 3D Flash", MICRO 2020, for sentinels, the polynomial of
    degree 5, linear dependence and calibration; "Swift-Read", ISSCC 2022, for the share of ones, in the die. Both
    are known through notes of others. That both infer by one polynomial is ours.
    """
    boundary: int
    """The measured boundary: boundary i lies between states i and i + 1."""
    calibration_steps: int
    """Steps by which references are moved once more if the read fails with references that sentinels placed."""
    counted_cells: int | None
    """Number of cells whose share below the boundary is counted: the cells of a page. Reads use this number with
    `read.references = "share_of_ones"`.
    """
    differences: list[float]
    """The smallest and the largest d for which the polynomial was fitted; beyond them it is constant."""
    follow: list[list[float]]
    """For each boundary a line over the offset of the measured boundary: its value at 0, in volts, and its slope."""
    offset_v: list[float]
    """The offset of the measured boundary, in volts: the coefficients of d^0, d^1, ..."""
    sentinels: int | None
    """Number of sentinel cells of a wordline. Reads use them with `read.references = "sentinels"`."""
    step_v: float
    """Step of the inferred offsets of the measured boundary, in volts: the offsets are multiples of it."""
    steps: int
    """Largest number of steps of an inferred offset in either direction."""

class IntensitySpec(Record):
    """The bounds above which a tenant uses a unit much. The bounds are bytes in an epoch for all units together. A
    tenant uses a unit much if it has more pages there in an epoch than the unit's part of these bytes, and than one
    page. The use in one epoch decides for the next epoch. Source: A. Tavakkol et al., "FLIN", ISCA 2018, 5.1: flows
    of high intensity wait behind those of low intensity; epoch and bytes are those of its implementation for MQSim,
    where they apply to chips.
    """
    epoch_us: float
    """Length of an epoch, us."""
    read_bytes: int
    """Bytes of pages that are read in an epoch, for all units together."""
    write_bytes: int
    """Bytes of pages that are programmed in an epoch, for all units together."""

class InterconnectSpec(Record):
    """The network between SSDs and a pool of decoders or encoders: a link of each SSD, and the switch that joins all
    links. A codeword to be decoded crosses the link of its SSD, then the switch; an encoded one crosses the switch,
    then the link. Link and switch carry one codeword at a time in each direction, first come, first served. They
    pass a codeword on when they have received all of it (store and forward). Source: S. Korkotsides, T.
    Antonakopoulos, "The effect of using multiple code rates on NVM-based storage systems", 2017, figure 1, where
    links and the switch are drawn, and take no time.
    """
    codeword_bytes: int
    """Bytes of a codeword in flash, data and parity: the size of its hard decisions on a link."""
    ssd_link: LinkSpec
    """The link of each SSD."""
    switch: LinkSpec
    """The switch."""

class InterconnectSummary(Record):
    """The switch, and the links between SSDs and a pool of decoders or encoders. Busy shares of links are means over
    all SSDs.
    """
    link_from_ssds: float
    """Mean busy share of links in the direction from SSDs."""
    link_to_ssds: float
    """Mean busy share of links in the direction to SSDs."""
    mean_us: float | None
    """Mean time of a codeword read on link and switch, waiting included, us. It is part of `wait_decoder`; `null`
    where nothing was read.
    """
    switch_from_encoders: float
    """Mean busy share of the switch in the direction from encoders."""
    switch_to_decoders: float
    """Mean busy share of the switch in the direction to decoders."""

class Interference(Record):
    """Interference from programming the next wordline: each cell rises by `coupling` times the rise of its neighbour
    there. The neighbour rises from the mean of erased cells to the mean of one of the states, all equally likely.
    The effect of the wordline before was there when this one was verified, and other neighbours are not modelled.
    The last wordline of a block is treated as if it had a next one. Source: Y. Cai, O. Mutlu, E. Haratsch, K. Mai,
    "Program Interference in MLC NAND Flash Memory: Characterization, Modeling, and Mitigation", 2013: linear in
    what neighbours rise by. The coupling is a parameter.
    """
    coupling: float
    """Rise of a cell as a share of the rise of its neighbour."""

class InterleavedGroups(Record):
    """The groups of chips that interleave."""
    with_chip_factor_above: float
    """Groups with a chip whose factor on the raw bit error rate is above this number."""

class InterleavingSpec(Record):
    """Data placement interleaving: n codewords are divided among pages of n chips, an n-th of each codeword in each
    page, so that a codeword meets the mean of their raw bit error rates. Reading one codeword senses n pages.
    Source: K. Zhao et al., "LDPC-in-SSD", FAST 2013, section 3.3.
    """
    groups: InterleavedGroups
    """The groups of chips that interleave."""
    remainder: Literal["plain"] | Literal["pad"]
    """The placement of codewords of a request that do not fill a group."""
    ways: int
    """Number of ways n: a divisor of the number of chips, 1 for no interleaving. A group takes chips that follow one
    another in the stripe. The blocks of a group are written, collected and erased together, as a superblock.
    """

class Issue(Record):
    """The times at which requests are issued."""
    open_loop: IssueOpenLoop | None
    """Requests are issued at their recorded times, multiplied by `time_scale` (0.5 doubles the load)."""
    closed_loop: IssueClosedLoop | None
    """A request is issued as soon as fewer than `queue_depth` are outstanding. Recorded times are ignored."""

class IssueClosedLoop(Record):
    """A request is issued as soon as fewer than `queue_depth` are outstanding. Recorded times are ignored."""
    queue_depth: int
    """Number of outstanding requests."""

class IssueOpenLoop(Record):
    """Requests are issued at their recorded times, multiplied by `time_scale` (0.5 doubles the load)."""
    time_scale: float
    """Factor on arrival times."""

class KindsRule(Record):
    """The relation between kinds of operations."""
    order: list[list[Literal["host_read"] | Literal["host_write"] | Literal["translation"] | Literal["collection_read"] | Literal["collection_program"] | Literal["erase"] | Literal["wear_levelling"] | Literal["read_reclaim"] | Literal["refresh"] | Literal["scrub"] | Literal["folding"] | Literal["read_ahead"] | Literal["parity"]]] | None
    """Kinds of an earlier list go before kinds of a later list. Kinds of one list are equal. Kinds that are in no list
    are equal, too, and come last.
    """
    weights: dict[str, int] | None
    """For each kind the number of its turns for each turn of a kind that is not named, 1 to 65,536, as long as
    operations of both wait. This is start-time fair queueing of operations, whatever time they take. Source: Goyal,
    Vin, Cheng: Start-time fair queuing, SIGCOMM 1996.
    """

class LdpcDecoderSpec(Record):
    """A layered min-sum decoder of quasi-cyclic LDPC codes. The codes are those of `reliability`, if that is the table
    of a shipped code or `exact`. Source: D. Hocevar, "A reduced complexity decoder architecture via layered
    decoding of LDPC codes", 2004.
    """
    checks_per_cycle: int
    """Checks of a block row that are processed in one cycle, with all of their bits."""
    clock_mhz: float
    """Clock of the circuit, MHz."""
    code: str
    """A shipped LDPC code, for a `reliability` that names no code."""
    message_bits: int
    """Bits of a message, including its sign. They set area and energy, and do not change failure probabilities, which
    come from `reliability`.
    """

class LinkSpec(Record):
    """A link with two independent directions."""
    bandwidth_gb_per_s: float
    """Bandwidth in each direction, GB/s: 10^9 bytes a second."""
    latency_us: float
    """Time from the departure of the last byte to its arrival, us. The next codeword may leave meanwhile."""

class LinkSpeed(Record):
    """The speed of data on a link, in each direction."""
    bandwidth_gb_per_s: float | None
    """Bandwidth for data, GB/s: 10^9 bytes a second."""
    pcie: LinkSpeedPcie | None
    """The speed of PCI Express of a generation and a width."""

class LinkSpeedPcie(Record):
    """The speed of PCI Express of a generation and a width."""
    generation: int
    """Generation of PCI Express."""
    lanes: Literal[1, 2, 4, 8, 16]
    """Number of lanes."""

class MachineSummary(Record):
    """Costs of a simulation on the computer that ran it."""
    own: list[OwnSummary] | None
    """Costs of asking policies and rules of the user's own; absent without them."""
    peak_rss_bytes: int | None
    """Largest resident set of the process so far, bytes; `null` where the system does not say."""
    requests_per_s: float
    """Completed requests per second of `wall_s`."""
    setup_s: float
    """Wall time of building and preconditioning the device, s."""
    wall_s: float
    """Wall time from opening the trace to the last completion, without set-up, s."""

class Mapping2(Record):
    """The place of the map from logical codewords to places."""
    demand: DemandSpec
    """The map is in translation pages in flash, and the entries in use are in a cache (DFTL)."""

class MappingSummary(Record):
    """The mapping cache of a demand-based FTL."""
    dirty_evictions: int
    """Evicted entries that had changed."""
    entries: int
    """Number of entries that the cache has room for."""
    evictions: int
    """Entries that were evicted."""
    hit_ratio: float | None
    """Hits over hits and misses; `null` without any."""
    hits: int
    """Codewords of requests whose entry was in the cache."""
    misses: int
    """Codewords of requests whose entry was not in the cache."""
    read_hit_ratio: float | None
    """Hits of reads over hits and misses of reads; `null` without any."""
    read_hits: int
    """Codewords of reads whose entry was in the cache."""
    read_misses: int
    """Codewords of reads whose entry was not in the cache."""
    refused_entries: int | None
    """Entries that reads needed and that were not taken in; absent where the cache takes all entries in."""
    refused_write_backs: int
    """Updates of translation pages that found no room because of lower code rates."""
    translation_programs: int
    """Translation pages programmed, except for those that garbage collection moved."""
    translation_reads: int
    """Translation pages read, for requests or to be updated."""

class MeasuredStates(Record):
    """Measured states: each state is normal, with a mean and a spread that grow with P/E cycles and that mechanisms
    change with time. After N P/E cycles and t hours since the write ```text mean = mean0 + mean_per_kilocycle N /
    1000 + sum over mechanisms of f(t a) mean w(N; mean_wear_free, mean_pe_exponent) variance = sigma0^2 +
    variance_per_kilocycle N / 1000 + sum over mechanisms of f(t a) variance w(N; variance_wear_free,
    variance_pe_exponent) w(N; free, e) = free + (1 - free) (N / pe_cycles)^e ``` Here f is the time law of a
    mechanism, and a its Arrhenius acceleration at `retention_temperature_c`. A variance is never less than a
    hundredth of the one with which a state was programmed.
    """
    measured_temperature_c: float
    """The temperature for which the time laws of the mechanisms hold, in degrees Celsius."""
    mechanisms: list[Mechanism]
    """Mechanisms that change the states with time."""
    pe_cycles: int
    """P/E cycles for which the coefficients of the mechanisms hold."""
    programmed: ProgrammedAs
    """The states just after they were written."""
    retention_temperature_c: float
    """The temperature at which data rests, in degrees Celsius."""
    unit_v: float
    """Volts per unit of means and spreads."""

class MeasurementSpec(Record):
    """The part of a run that is measured. All counts and response times are those of this part. The history of blocks
    (P/E cycles, bad blocks, code rates, losses of power) is that of the whole run.
    """
    seconds: float | None
    """Simulated time after the warm-up at which requests end, s. A synthetic workload goes on until then, however many
    `requests` it has; a trace may end before. Without this field requests end as the workload or the trace says.
    """
    warmup: Warmup
    """The part of the run before the measured part. A synthetic workload has as many more requests as the warm-up
    takes; a trace gets no longer.
    """

class MeasurementSummary(Record):
    """The warm-up of a run."""
    steady: bool | None
    """Whether the drive was in its steady state when the warm-up ended; `null` if the config does not ask for it, or
    it was never reached.
    """
    warmed_up: bool
    """Whether the warm-up ended before the run did; if not, all numbers are of the warm-up."""
    warmup_requests: int | None
    """Requests that had completed when the warm-up ended; `null` if it did not end."""
    warmup_s: float | None
    """Simulated time of the warm-up, s; `null` if the warm-up did not end."""

class Mechanism(Record):
    """A mechanism by which written cells change: its coefficients are numbers for each state, the erased one first."""
    activation_energy_ev: float
    """Activation energy of its Arrhenius law, in eV; 0 for a mechanism that does not depend on temperature."""
    mean: list[float]
    """Change of the means by an amount of 1. Default: none."""
    mean_pe_exponent: float
    """Exponent of P/E cycles in the means."""
    mean_wear_free: float | None
    """Share of `mean` that needs no wear. With 1 the mechanism is as strong in new cells; with 0, the default, new
    cells do not have it.
    """
    name: str
    """Name of the mechanism."""
    time: TimeLaw
    """Its amount as a function of time."""
    variance: list[float]
    """Change of the variances by an amount of 1. Default: none."""
    variance_pe_exponent: float
    """Exponent of P/E cycles in the variances."""
    variance_wear_free: float | None
    """Share of `variance` that needs no wear."""

class Namespace(Record):
    """The part of the address space that a tenant sees."""
    fraction: float | None
    """A share of the device, which lies behind those of tenants before."""
    bytes: int | None
    """A number of bytes, which lie behind those of tenants before."""
    shared_with: str | None
    """The namespace of the tenant with this name, which has a namespace of its own."""

class Observable(Record):
    """Quantity that a controller counts in each decode of hard decisions."""
    corrected_errors: ObservableCorrectedErrors
    """Bits that were corrected. The number is the size of a codeword in flash, data and parity, in bits."""

class ObservableCorrectedErrors(Record):
    """Bits that were corrected. The number is the size of a codeword in flash, data and parity, in bits."""
    codeword_bits: int
    """Bits of a codeword in flash, data and parity."""

class ObservedSwitch(Record):
    """Code rates that follow a controller's observations of a block, with hysteresis. The block begins with the rate
    of its P/E cycles. When it is erased, the mean over its decodes since the last write decides. Above a limit, or
    after a failed decode, it goes to the next stronger code. Below another limit it goes to the next weaker one;
    otherwise it keeps its code. Source: S. Korkotsides, T. Antonakopoulos, 2017, section III: "switching into
    stronger codes when LDPC decoder's iterations pass a predetermined limit". The paper gives neither the limit,
    nor other quantities to count, nor a way back.
    """
    by: Observable
    """Quantity that is counted in each decode."""
    least_decodes: int
    """Number of decodes of a block below which their mean is ignored."""
    stronger_above: list[float]
    """Limit of the mean above which a block goes to the next stronger code: one for all rates, or one for each but the
    last.
    """
    weaker_below: list[float]
    """Limit of the mean below which a block goes back to the next weaker code: one for all rates, or one for each but
    the first. Without this field a block never goes back.
    """

class Operations(Record):
    """Operations of flash, buses and decoders, for any owner."""
    bypasses: int
    """Codewords that needed no decoder."""
    decodes: int
    """Decodes."""
    encodes: int
    """Codewords that encoders have encoded; 0 where that takes no time."""
    erases: int
    """Block erases."""
    extra_levels_sensed: int
    """Extra levels sensed, over all sensings."""
    known_cell_reads: int
    """Reads of known cells by themselves."""
    look_ahead_senses: int
    """Sensings begun before the outcome of the level before was known."""
    look_ahead_wasted: int
    """Sensings ahead that were not needed."""
    mispredictions: int
    """Predictions that were wrong."""
    predicted_failures: int
    """Predictions that a decode will fail."""
    predictions: int
    """Predictions of whether hard decisions will be decoded."""
    programs: int
    """Page programs."""
    resets: int
    """Sensings ahead that were cut short by a RESET."""
    search_sensings: int
    """Sensings of each boundary in searches for valleys."""
    senses: int
    """Sensings of a page that included the hard-decision level."""
    suspensions: int
    """Suspensions of programs and erases."""
    transfers: int
    """Codewords transferred to a decoder, from however many pages."""

class OwnSummary(Record):
    """Costs of asking a policy or rule of the user's own."""
    calls: int
    """Number of times that the policy or rule was asked during the run."""
    calls_s: float
    """Wall time of these calls, s; 0 where they are too quick to be measured, as compiled code is."""
    name: str
    """Name of the policy or rule in the config."""
    tabulated: int | None
    """Decisions that were asked for before the run; `null` where decisions are asked for during the run."""

class PageTypeSpec(Record):
    """A page type."""
    name: str
    """Name of the page type, such as lower or upper."""
    program_us: float
    """Time to program a page, us."""
    rber_factor: float
    """Factor on the raw bit error rate. `reliability.table`, `adaptive`, `bch` and `exact` use it."""
    sense_extra_level_us: float
    """Time to sense one extra level, us."""
    sense_spread: list[SpreadPart] | None
    """Additional time to sense some pages with hard decision, as layers and wordlines differ. It is drawn once for
    each page, and added to each sensing of the page with hard decision.
    """
    sense_us: float
    """Time to sense a page with hard decision, us."""

class ParitySpec(Record):
    """Parity across dies (die-level RAID, RAIN). A stripe has one page on each of n + 1 dies, and one of these pages
    is the exclusive or of the n others. A codeword that no level of its own error correction decodes is rebuilt
    from the others of its stripe. The blocks of a stripe are one superblock: they are written in turn, and
    collected and erased together. The parity of the next stripe is on the next die.
    """
    data_pages: int
    """Number n of pages of data in a stripe. n + 1 is a divisor of the number of dies of an SSD."""

class ParitySummary(Record):
    """Parity across dies. Codewords that parity could not rebuild are the uncorrectable codewords of `codeword_reads`.
    """
    data_pages: int
    """Data pages of a stripe."""
    expected_uber: float | None
    """Expected uncorrectable bit error rate with parity, if codewords of a stripe fail independently of one another."""
    expected_uber_by_code: float | None
    """Expected uncorrectable bit error rate of reads at the end, by the codes of the codewords alone; `null` where it
    is unknown.
    """
    programs: int
    """Parity pages programmed."""
    recovered: int
    """Codewords of the host's reads that no level decoded, and that were rebuilt."""
    recovered_in_background: int
    """Codewords of other reads that no level decoded, and that were rebuilt."""
    recovery_reads: int
    """Pages that were read to rebuild codewords of other pages."""
    xor_buffer_bytes: int
    """Controller memory for the parity of all stripes that can be incomplete at once, bytes."""

class Placement(Record):
    """The placement of the reference voltages of soft sensing, for the states that the controller expects
    ([`crate::References`]). Level 1 is always at the hard references.
    """
    uniform: PlacementUniform
    """References at equal distances, symmetric about each hard reference."""

class PlacementUniform(Record):
    """References at equal distances, symmetric about each hard reference."""
    step_v: float | None
    """The distance, in volts. It is smaller if boundaries would meet, or if references would lie beyond all errors.
    Without this field it is the distance with the most mutual information.
    """

class PowerLossSpec(Record):
    """Losses of power. The content of an unprotected write buffer is lost, and programs and erases are started anew.
    The device is away until power is back, the map is reloaded and pages written lately are scanned.
    """
    at_s: list[float]
    """Instants at which power fails, in seconds of the run, in growing order. Instants at which the device is already
    away are ignored.
    """
    map_entry_bytes: int
    """Bytes of a map entry of a codeword, with which the map is reloaded from the flash. With 0 the map is not
    reloaded.
    """
    mean_interval_s: float | None
    """Mean time from the moment at which the device is back to the next loss, s, in addition to `at_s`. The times are
    exponential and drawn from the seed. Without this field the only losses are those of `at_s`.
    """
    off_us: float
    """Time without power, us."""
    power_up_us: float
    """Time from the return of power to the first read of the flash, for capacitors, boot code and firmware, us."""
    scan: Literal["none"] | Literal["open_blocks"] | Literal["all_blocks"]
    """The pages that are scanned for map entries that the reloaded map lacks."""

class PowerLossSummary(Record):
    """Losses of power."""
    erases_again: int
    """Erases that were started anew."""
    longest_away_us: float
    """Longest time for which the device was away after a loss, us."""
    losses: int
    """Number of losses."""
    lost_codewords: int
    """Acknowledged codewords, or parts of codewords, that are lost."""
    map_pages: int
    """Pages of the map that were read."""
    mean_away_us: float | None
    """Mean time for which the device was away after a loss, us; `null` without one."""
    programs_again: int
    """Programs that were started anew."""
    saved_pages: int
    """Pages in which protected write buffers were saved."""
    scanned_pages: int
    """Pages that were scanned for map entries."""

class PreconditionSpec(Record):
    """The state in which the device starts. It is set directly and costs no simulated operation."""
    block_reads: float
    """Reads of each block since its data was written, spread evenly over its wordlines. It matters where cells have
    `read_disturb`.
    """
    free_blocks: int | None
    """Free blocks of each plane (of each set of planes where blocks are erased together) with `layout =
    "steady_state"`. Without this field each plane is at a point of its own between two collections, none of which
    is under way, as on a drive that is written to lightly. A drive that is written to without pause has fewer free
    blocks, two above the reserve.
    """
    layout: Literal["sequential"] | Literal["steady_state"]
    """The arrangement of the data in the blocks."""
    mapped_fraction: float
    """Share of the user capacity that has been written."""
    pe_cycles: int
    """Program/erase cycles of every block at the start. `reliability.table`, `adaptive`, `bch` and `exact` use it."""
    pe_cycles_spread: float
    """Spread of the P/E cycles of blocks, a share. The P/E cycles of blocks that are erased together are drawn
    uniformly between 1 - spread and 1 + spread times those of their SSD, and rounded.
    """
    retention_days: float
    """Age of the data at the start, days. `reliability.table`, `adaptive`, `bch` and `exact` use it."""
    retention_spread: float | None
    """Spread of the age of data, a share. The ages of the blocks of a plane are evenly spaced, in random order,
    between 1 - spread and 1 + spread times the age of the data of its SSD. A spread of 1 describes a drive with
    steady refresh.
    """
    ssds: list[SsdAge]
    """The age of each SSD in order, in place of `pe_cycles`, `retention_days` and `block_reads`. An empty list means
    that these hold for all SSDs.
    """
    translation_pages: Literal["aged"] | Literal["fresh"]
    """Age of the translation pages, where the map is in flash (`ftl.mapping.demand`)."""

class Predictor(Record):
    """A predictor that uses violated checks to tell that a hard decision will not be decoded. Only the first hard
    decision of each read is predicted. Source: M. Chun et al., "RiF: Improving Read Performance of Modern SSDs
    Using an On-Die Early-Retry Engine", HPCA 2024, through notes of others.
    """
    checks: int | None
    """Number of checks that are counted, the first ones of the code. Default: all."""
    place: Literal["die"] | Literal["controller"]
    """Place of the predictor."""
    predict_us: float
    """Time of a prediction, us."""
    threshold_rber: float
    """Threshold as a raw bit error rate: decoding is tried with at most the mean number of violated checks at this
    rate.
    """

class PrioritiesRule(Record):
    """The relation between priorities of tenants."""
    weights: dict[str, int]
    """For each priority the number of its turns for each turn of a priority that is not named, 1 to 65,536, as long as
    operations of both wait. This is start-time fair queueing, as in `kinds.weights`. Source: A. Tavakkol et al.,
    "FLIN", ISCA 2018, section 5, priority-aware queue arbitration. There weights are powers of two, and reads and
    writes have turns of their own.
    """

class ProgramFailureSpec(Record):
    """Failures of programs: in a block whose pages are all programmed in each cycle, a program has failed by N P/E
    cycles with the probability 1 - (1 - share)^((N / at_pe_cycles)^exponent), a Weibull distribution.
    """
    at_pe_cycles: int
    """P/E cycles by which a program has failed in the share `share` of the blocks."""
    exponent: float
    """Exponent of the growth with P/E cycles. With 1 all programs fail equally often; with more, programs of old
    blocks fail more often.
    """
    program_us: float | None
    """Time of the program of a page that fails, us: chips try until the longest time that they allow. Without this
    field it takes as long as a program that succeeds.
    """
    share: float
    """Share of blocks in which a program has failed by `at_pe_cycles`."""

class ProgrammedAs(Record):
    """The states just after they were written: numbers for each state, the erased one first."""
    mean: list[float]
    """Means without a P/E cycle, ascending."""
    mean_per_kilocycle: list[float]
    """Increase of the means in 1,000 P/E cycles. Default: none."""
    sigma: list[float]
    """Standard deviations without a P/E cycle."""
    variance_per_kilocycle: list[float]
    """Increase of the variances in 1,000 P/E cycles. Default: none."""

class RateSpec(Record):
    """A code rate, and the age up to which blocks use it."""
    file: str
    """Decode table: the name of a shipped one, or a file beside the config."""
    to_pe_cycles: int
    """P/E cycles of a block up to which it uses this rate; the last rate is used beyond this age, too. With an
    observed switch this sets only the rate at the start.
    """
    units: int
    """Mapping units in a codeword, each of `geometry.codeword_bytes`."""

class RateSwitch(Record):
    """The rule by which a block changes from one code rate to another. A change happens when the block is erased."""
    observed: ObservedSwitch
    """The results of the block's decodes since it was last written."""

class RberGrid(Record):
    """Measured raw bit error rates on a grid of ages. Between its points ln(RBER) is linear in sqrt(P/E cycles) and in
    ln(1 + retention / 1 h), in which error rates of flash are nearly straight lines. A rate of 0 stands for 1e-30.
    A run has to begin within the grid; beyond the last P/E cycles and retention both slopes continue.
    """
    pe_cycles: list[int]
    """P/E cycles, ascending, at least one."""
    rber: list[list[float]]
    """Raw bit error rates: a row for each of `pe_cycles`, with a number for each of `retention_days`."""
    retention_days: list[float]
    """Days since the write, ascending, at least one. With a single one retention has no effect."""

class RberModel(Record):
    """Raw bit error rate as a function of wear."""
    constant: RberModelConstant | None
    """RBER that is the same at every age."""
    power_law: RberModelPowerLaw | None
    """`floor + scale (pe_cycles / 1000)^pe_exponent ln(1 + retention_hours / 1 h)^retention_exponent`."""
    exponential: RberModelExponential | None
    """`scale exp(pe_cycles / e_folding_pe_cycles)`."""
    grid: RberGrid | None
    """Measured rates on a grid of P/E cycles and retention."""
    threshold_voltage: str | CellSpec | None
    """RBER by page from distributions of threshold voltages: the fields of a model of cells (`{}` is LaLDPC's MLC),
    the name of a shipped model, or a file beside the config.
    """

class RberModelConstant(Record):
    """RBER that is the same at every age."""
    rber: float
    """Raw bit error rate."""

class RberModelExponential(Record):
    """`scale exp(pe_cycles / e_folding_pe_cycles)`."""
    e_folding_pe_cycles: float
    """P/E cycles in which RBER grows by a factor of e."""
    scale: float
    """RBER of fresh flash."""

class RberModelPowerLaw(Record):
    """`floor + scale (pe_cycles / 1000)^pe_exponent ln(1 + retention_hours / 1 h)^retention_exponent`."""
    floor: float
    """RBER to which wear and retention add: the RBER of fresh data, where RBER depends on retention."""
    pe_exponent: float
    """Exponent of P/E cycles."""
    retention_exponent: float
    """Exponent of the logarithm of retention; 0 makes RBER independent of retention."""
    scale: float
    """RBER at 1,000 P/E cycles where the retention factor is 1."""

class ReadAheadSpec(Record):
    """Reading ahead of sequential reads: pages that are likely to be asked for next are read in advance, and wait in
    the read buffer. A stream is a sequence of reads of one tenant, each of which begins where the one before it
    ended. The window of a stream is a number of pages, counted from the end of its current request; it doubles with
    each request up to `most_pages`.
    """
    after_requests: int
    """The number of requests of a stream from which on pages are read ahead. The current request counts."""
    least_pages: int
    """The first window of a stream, pages."""
    most_pages: int
    """The largest window of a stream, pages: at most half of the pages that the read buffer holds."""
    streams: int
    """The number of streams of each tenant that are recognised at the same time. A new stream replaces the one that
    was inactive longest.
    """

class ReadAheadSummary(Record):
    """Reading ahead of sequential reads."""
    late_codewords: int
    """Codewords that were asked for while they were being read ahead, and waited for the rest of that read."""
    mean_late_us: float | None
    """Mean time for which late codewords waited, us; `null` where none was late."""
    pages: int
    """Pages that were read ahead."""
    used_pages: int
    """Pages read ahead that a request asked for later."""
    wasted_pages: int
    """Pages read ahead that no request asked for: they have left the read buffer, or are in it at the end."""

class ReadBufferSpec(Record):
    """The read buffer. Codewords that a read, or a read-modify-write, does not find in the buffer enter it when they
    are decoded.
    """
    admission: Literal["always"] | Literal["second_miss"] | str | None
    """The missed pages that enter the buffer: `"always"`, `"second_miss"` or a rule of your own,
    `"my_rules.py:Often"`. If a page does not enter, only the codewords that were asked for are read, and none is
    kept.
    """
    bytes: int
    """Size of the buffer, bytes: at least a page, at most 16 GiB. A page takes the room of a whole page, however much
    of it is in the buffer.
    """
    history_pages: int | None
    """The number of recently missed pages for which `admission` remembers how often they were missed. Default: as many
    as the buffer has room for.
    """
    largest_request_bytes: int | None
    """Size of the largest request whose data enters the buffer, bytes. Larger requests bring nothing into it, whatever
    `admission` says, so that scans do not displace its content. Without this field requests of any size do.
    """
    replacement: Literal["lru"] | Literal["fifo"] | None
    """The page that leaves a full buffer."""
    takes: Literal["codewords"] | Literal["whole_pages"] | None
    """The part of a page that a miss reads."""

class ReadBufferSummary(Record):
    """The read buffer."""
    along: int
    """Codewords of missed pages that no request had asked for; `codeword_reads` counts them, too."""
    hit_ratio: float | None
    """Hits over hits and misses; `null` without any."""
    hits: int
    """Codewords of reads that were in the buffer."""
    misses: int
    """Codewords of reads that were in flash and not in the buffer."""
    modify_hits: int
    """Codewords covered by a write in part that were in the buffer."""
    modify_misses: int
    """Codewords covered by a write in part that were not in the buffer."""
    refused_pages: int | None
    """Pages that were missed and not taken in; absent where the buffer takes all pages in."""

class ReadDisturb(Record):
    """Disturbance by reads of other wordlines of a block: the pass-through voltage that opens cells programs them
    weakly. A cell at V rises by tunnelling, dV/dn ~ exp(-V / `scale_v`), so that after n effective reads it is at
    ```text scale_v ln( exp(V / scale_v) + a n / doubling_reads (1 + N / doubling_pe_cycles)
    exp(pass_through_sensitivity (pass_through_voltage - 1)) ) ``` with N P/E cycles: low cells rise most. Cells
    differ in their susceptibility a: ln a is binomial, nine values about 0 with standard deviation
    `susceptibility_sigma`. If all cells were alike they would keep their order, and moved references would undo the
    effect of reads. V is the voltage at which retention has left the cell, as if all reads came after it. A lowered
    pass-through voltage does not open the cells above it; the effect of these cells on others is left out.
    Effective reads of a wordline are `adjacent_stress` times the reads of the two wordlines beside it, plus the
    reads of the other wordlines of its block. Its own reads do not count. Source: M. Chun et al., "STRAW: Stress-
    Aware WL-Based Read Disturbance Management for High-Density NAND Flash Memory", 2026.
    """
    adjacent_stress: float
    """Weight of a read of an adjacent wordline, relative to other reads."""
    doubling_pe_cycles: float
    """P/E cycles at which reads disturb twice as much as in a fresh block."""
    doubling_reads: float
    """Effective reads that double exp(V / `scale_v`) of a cell at 0 V in a block without a P/E cycle, and so raise it
    by 0.69 `scale_v`.
    """
    pass_through_sensitivity: float
    """Steepness of the growth with the pass-through voltage. With one per cent more voltage reads disturb about this
    number of per cent more.
    """
    pass_through_voltage: float
    """The voltage on wordlines that are not read, as a share of the nominal voltage."""
    scale_v: float
    """Voltage over which the effect falls by a factor of e from low to high cells, in volts."""
    susceptibility_sigma: float
    """Spread of cells: the standard deviation of ln a."""

class ReadReclaimSpec(Record):
    """The data that is moved before reads have disturbed it too much. Source: of wordlines, M. Chun et al., "STRAW:
    Stress-Aware WL-Based Read Disturbance Management for High-Density NAND Flash Memory", ASPLOS 2026.
    """
    block: ReadReclaimSpecBlock | None
    """All valid data of a block is moved, and the block is erased."""
    wordline: WordlineReclaimSpec | None
    """The valid data of all pages of one wordline is moved. Its block is not erased."""

class ReadReclaimSpecBlock(Record):
    """All valid data of a block is moved, and the block is erased."""
    reads: int
    """Sensings of a block since its last erase, those before the run included, at which the block is due."""

class ReadReclaimSummary(Record):
    """Read reclaim: data that is moved before reads have disturbed it too much."""
    blocks: int
    """Blocks whose data was moved, and that were erased."""
    codewords: int
    """Codewords moved, including those of wordlines whose reclaim found no room and ended."""
    counter_bytes_per_block: int
    """Controller memory for the read counters, bytes a block."""
    wordlines: int
    """Wordlines moved."""

class ReadSpec(Record):
    """The way in which reads are done."""
    max_level: int
    """The deepest level of reads. The decode table must have it, or the decoder must be able to use it."""
    policy: Literal["ideal"] | Literal["two_step"] | Literal["look_ahead"] | Literal["progressive"] | Literal["look_ahead_progressive"] | str
    """The levels that a read tries, and when it begins to sense them."""
    predictor: Predictor | None
    """A predictor of hard decisions that will not be decoded. Without this field there is none."""
    references: Literal["cells"] | Literal["retry_table"] | Literal["valley_search"] | Literal["sentinels"] | Literal["share_of_ones"]
    """Placement of the references of hard decisions."""
    remembered: Literal["nothing"] | Literal["of_block"] | Literal["of_layer"]
    """References that are remembered after they decoded, so that later reads begin there."""
    retries_ahead: bool
    """Whether the next retry is sensed while the last one transfers and decodes, from the first retry on, with any
    policy (pipelined read-retry, PR2). A policy that looks ahead does so from the first step on.
    """
    retry: Literal["incremental"] | Literal["restart"] | Literal["restart_on_jumps"]
    """References that a retry senses and transfers."""
    retry_sensing_percent: int
    """Sensing time of a retry of hard decisions in per cent of the whole time (adaptive read-retry, AR2);
    `shortened_sensing` of `threshold_voltage` gives the noise that this adds.
    """
    soft_references: Literal["cells"] | Literal["fewest_violated"]
    """Placement of the references of soft levels that come after retries of hard decisions."""

class ReadTimeUs(Record):
    """Mean time of a codeword read, by its parts, us; `null` where nothing was read."""
    decode: float | None
    """Decoding, first attempt."""
    retries: float | None
    """Everything after the first attempt had failed."""
    sense: float | None
    """Sensing, first attempt."""
    transfer: float | None
    """Transfer, first attempt."""
    wait_bus: float | None
    """Waiting for the channel bus, first attempt."""
    wait_decoder: float | None
    """Waiting for a decoder, and on the way to one outside the SSD, first attempt."""
    wait_plane: float | None
    """Waiting for the plane to sense, first attempt."""

class References(Record):
    """The controller's assumptions about the positions of states. Read references are placed for the states that it
    expects.
    """
    inference: Inference | None
    """Inference of references from a measurement at one boundary."""
    offset_v: float
    """Offset of all references, in volts."""
    placed_for: Wear | None
    """The age of the states that the controller expects if it does not track them, such as the age of the chip's
    default references. Without this field it expects states just after programming, at the same P/E cycles, before
    any read.
    """
    retry_table_v: list[list[float]] | None
    """The chip's retry table: each entry has the offsets of hard-decision references from the default, in volts. There
    is one number for each boundary between states, the lowest first. Reads try the entries with `read.references =
    "retry_table"`.
    """
    tracked: bool
    """If true, the controller expects states where they are at their age. If false, it expects them where they are at
    the age `placed_for`.
    """
    valley_search: ValleySearch | None
    """The controller's search for the best references. Reads search with `read.references = "valley_search"`."""

class ReferencesSummary(Record):
    """References of reads."""
    follow_age: bool
    """Whether the first hard decision of a read, or a step of such a policy, uses references that follow the true age
    of the data.
    """
    hard: Literal["cells"] | Literal["retry_table"] | Literal["valley_search"] | Literal["sentinels"] | Literal["share_of_ones"]
    """References of hard decisions, as in `read.references`; `cells` for a policy that knows the level."""
    own_cells: bool
    """Whether a policy of the user's own has asked for references `cells` by itself."""
    soft: Literal["cells"] | Literal["fewest_violated"]
    """References of soft levels after retries of hard decisions, as in `read.soft_references`."""

class RefreshSpec(Record):
    """Refresh: data is moved before it is too old. Source: Y. Cai et al., "Flash Correct-and-Refresh: Retention-Aware
    Error Management for Increased Flash Memory Lifetime", ICCD 2012 (refresh by remapping).
    """
    age_days: float
    """Age at which the data of a block is moved at the latest, days. The age of a block is that of the data that was
    written to it first.
    """

class RefreshSummary(Record):
    """Refresh: moving data before it is too old, or because a scrub found that it needs refresh."""
    blocks: int
    """Blocks whose data was moved, and that were erased. Blocks that are erased together count as one."""
    blocks_for_scrub: int
    """Refreshed blocks that a scrub had found."""
    blocks_late: int
    """Blocks whose refresh began after their data was too old."""
    codewords: int
    """Codewords moved."""
    write_amplification: float | None
    """Codewords moved over those that the host wrote; `null` without writes."""

class ReliabilitySpec(Record):
    """The reliability of reads: whether they succeed."""
    fixed: ReliabilitySpecFixed | None
    """A failure probability for each level, the same for every codeword at every age."""
    table: TableSpec | None
    """A decode table looked up at each codeword's raw bit error rate."""
    adaptive: AdaptiveSpec | None
    """A code rate for each age of a block, each with a decode table. A codeword holds as many mapping units as the
    rate of its block leaves room for.
    """
    bch: BchSpec | None
    """A BCH code for each age of a block (LAE-FTL). A mapping unit is divided into short codewords while the block is
    young; when it is old, parity takes space from the data.
    """
    exact: ExactSpec | None
    """A real decode of every codeword that is read, at a few thousand reads per second."""

class ReliabilitySpecFixed(Record):
    """A failure probability for each level, the same for every codeword at every age."""
    drawn_for: Literal["codeword"] | Literal["page"] | None
    """Codewords that share an outcome."""
    p_fail: list[float]
    """Probability that decoding fails at levels 1, 2, ...; it never grows. Levels beyond the list never fail."""

class ResponseSummary(Record):
    """A response-time distribution in numbers. Times are in microseconds, `null` if nothing was recorded."""
    count: int
    """Number of responses."""
    max_us: float | None
    """Exact maximum."""
    mean_us: float | None
    """Exact mean."""
    p50_us: float | None
    """Median; this and the other percentiles are within 0.4 %."""
    p95_us: float | None
    """95th percentile."""
    p9999_us: float | None
    """99.99th percentile."""
    p999_us: float | None
    """99.9th percentile."""
    p99_us: float | None
    """99th percentile."""

class Responses(Record):
    """Response times, from arrival to completion."""
    all: ResponseSummary
    """Response times of all requests, including trims and flushes."""
    flush: ResponseSummary | None
    """Response times of flushes; absent if there were none."""
    read: ResponseSummary
    """Response times of reads."""
    write: ResponseSummary
    """Response times of writes."""

class Retention(Record):
    """Charge loss of programmed cells. After t hours and N P/E cycles a state at voltage x has moved by -mu and its
    cells have spread by a normal distribution of variance sigma^2: ```text mu = k0 k1 (x - x0_v) ln(1 + t /
    t0_hours) N^mean_pe_exponent sigma^2 = k0 k2 (x - x0_v) ln(1 + t / t0_hours) N^variance_pe_exponent ``` Source:
    Y. Du, D. Zou, Q. Li, L. Shi, H. Jin, C. Xue, "LaLDPC: Latency-aware LDPC for Read Performance Improvement of
    Solid State Drives", 2017, eq. 1. The paper does not give t0; x is taken to be the mean voltage of the freshly
    programmed state, half a step above its verify voltage.
    """
    k0: float
    """Factor of both mu and sigma^2; 0 for no loss."""
    k1: float
    """Factor of mu."""
    k2: float
    """Factor of sigma^2, in volts."""
    mean_pe_exponent: float
    """Exponent of P/E cycles in mu."""
    t0_hours: float
    """The time after which the loss is logarithmic, in hours."""
    variance_pe_exponent: float
    """Exponent of P/E cycles in sigma^2."""
    x0_v: float
    """The voltage towards which cells lose charge: the one of erased cells."""

class RoundsAmong(Record):
    """The busy units that begin together."""
    channels: int
    """The busy units of this number of consecutive channels of an SSD, a divisor of the number of channels: a gang
    whose elements share control but have a bus each.
    """

class RoundsSpec(Record):
    """Busy units that begin together: a round begins when all of them are free, and each takes one operation that
    waits for it.
    """
    among: RoundsAmong
    """The part of the device whose busy units begin together."""
    reads: Literal["together"] | Literal["independent"] | None
    """The part that reads have in rounds: reads begin together, or each plane reads by itself while multi-plane
    commands program and erase.
    """
    take: Literal["first_of_each"] | Literal["batch"] | Literal["multi_plane"] | Literal["multi_plane_any_page"]
    """The operations that a round takes."""

class SchedulingSpec(Record):
    """The rules that choose which of the operations that wait for a busy unit goes next. Without a schedule retries go
    first, then reads of the host where `host.reads_first` says so, then all other operations, first come, first
    served. With a schedule retries go first, too, because part of their read has been done. Pages of a block have
    to be programmed in their order. So when the turn of a program comes, earlier programs of its block go first.
    """
    bus: bool | None
    """If true, the same rules choose among the transfers that wait for a bus; if false, `bus.first` does. Each bus
    then counts for itself how often a transfer is passed over, the turns by weights and the estimated times. It
    counts intensity in codewords, and compares it with its part of the bytes. A transfer of a retry is chosen like
    any other.
    """
    by: list[Literal["kind"] | Literal["priority"] | Literal["intensity"] | Literal["slowdown"] | Literal["proportional_wait"]]
    """Criteria by which two operations are compared, the most important first: the first criterion in which they
    differ decides. If they differ in none, the operation that has waited longer goes first. `[]` is first come,
    first served.
    """
    collection_first_at_blocks: int
    """The number of free blocks of a plane (free superblocks of a set) at or below which its garbage collection is
    urgent. Its operations then go before all other kinds by the criterion `kind`, and before all but reads by
    `proportional_wait`. 0: never.
    """
    deadlines: DeadlinesSpec | None
    """Deadlines for reads of the host. Without this field reads have none."""
    intensity: IntensitySpec | None
    """The bounds above which a tenant uses a unit much, for the criterion `intensity`."""
    kinds: KindsRule
    """The relation between kinds of operations."""
    passed_over_at_most: int
    """The largest number of later operations that may go before a waiting operation. After so many the operation is
    the next one, whatever its kind. Retries are not counted, because they are part of reads that have begun.
    """
    priorities: PrioritiesRule | None
    """The relation between priorities of tenants."""

class SchedulingSummary(Record):
    """Counts of how the schedule chose among operations that waited for a busy unit."""
    bus: BusSchedulingSummary | None
    """The schedule of transfers that waited for a bus; absent unless `scheduling.bus` has one."""
    chosen: int
    """Operations that had waited for their unit when they began; retries are not counted."""
    had_waited_enough: int
    """Chosen operations that had been passed over as often as is allowed."""
    missed_deadlines: int | None
    """Reads of the host that completed after their deadline; absent without deadlines."""
    most_passed_over: int
    """Most times that a chosen operation had been passed over."""
    near_deadline: int | None
    """Chosen operations whose deadline was near; absent without deadlines."""

class ScrubLimit(Record):
    """Limit of a patrol scrub for a codeword."""
    level: int | None
    """The highest level that a codeword may need."""
    corrected_errors: ScrubLimitCorrectedErrors | None
    """The most bits that may be wrong in hard decision."""
    iterations: int | None
    """The most iterations that the last decode of a codeword may take."""

class ScrubLimitCorrectedErrors(Record):
    """The most bits that may be wrong in hard decision."""
    codeword_bits: int
    """Bits of a codeword."""
    errors: int
    """Number of bits that may be wrong, less than `codeword_bits`."""

class ScrubSpec(Record):
    """Patrol scrub: reads of all data, one page after the other, that find blocks that need refresh."""
    period_days: float
    """Period in which every page of the device has its turn once, days."""
    refresh_above: ScrubLimit | None
    """Limit above which a codeword has its block refreshed: `{ level = 1 }`, `{ corrected_errors = { errors = 200,
    codeword_bits = 36864 } }` or `{ iterations = 10 }`. A codeword that no level decodes has its block refreshed in
    any case; without this field no other codeword has.
    """
    when: Literal["host_away"] | Literal["always"]
    """The time at which a page whose turn has come is read."""

class ScrubSummary(Record):
    """Patrol scrub."""
    behind: float | None
    """Share of the pages whose turn has come that have not been read, because the host was at work; `null` where no
    turn has come.
    """
    blocks_found: int
    """Blocks found to need refresh. Blocks that are erased together count as one."""
    codewords: int
    """Codewords read and decoded."""
    codewords_above: int
    """Codewords that were above the limit `ftl.scrub.refresh_above`."""
    codewords_recovered: int
    """Codewords that no level decoded and that were rebuilt by parity."""
    codewords_uncorrectable: int
    """Codewords that are lost: no level decoded them, and there is no parity that rebuilds them."""
    pages: int
    """Pages read."""
    rounds: float
    """Rounds of the device that are due by the end."""

class ServiceSpec(Record):
    """Time that every request takes in addition to its flash operations, for the host's software, the link and the
    controller's firmware. It occupies no resource of the device, and so adds to response times without changing
    waits.
    """
    hit_fraction: float
    """Share of reads that are served from the controller's memory, whatever they ask for. These reads take
    `controller_memory_us` a codeword and no flash operation.
    """
    overhead_us: float
    """Fixed part of the time of each request, us."""
    spread: list[SpreadPart]
    """Random part of the time, drawn for each request."""

class ShortenedSensing(Record):
    """The noise of sensing for less than the whole time. Bit lines settle exponentially, so a bit line that is cut off
    after a share f of the time is off by exp(-f T / tau), and each by a different amount. Voltages look as if they
    had noise of standard deviation ```text residual_v (exp(settling (1 - f)) - 1) ``` with `settling` = T / tau.
    There is no noise if the time is whole. Source: J. Park et al., "Reducing Solid-State Drive Read Latency by
    Optimizing Read-Retry", ASPLOS 2021, shortens sensing where error correction has a margin; this law is ours.
    """
    residual_v: float
    """Remaining error at the end of a whole sensing, in volts."""
    settling: float
    """Time constants of a bit line in a whole sensing."""

class SizeShare(Record):
    """A request size and its probability."""
    bytes: int
    """Size in bytes."""
    share: float
    """Probability."""

class SlcCacheSize(Record):
    """The number of blocks of a plane in an SLC cache."""
    static: SlcCacheSizeStatic | None
    """The cache always has the same blocks, which over-provisioning has to leave."""
    dynamic: SlcCacheSizeDynamic | None
    """The cache has some blocks always, and takes free blocks as long as there are more than garbage collection's high
    watermark. The fuller the device, the smaller the cache.
    """

class SlcCacheSizeDynamic(Record):
    """The cache has some blocks always, and takes free blocks as long as there are more than garbage collection's high
    watermark. The fuller the device, the smaller the cache.
    """
    least_blocks: int
    """Number of blocks that the cache always has, 0 or more. Over-provisioning has to leave them."""
    most_blocks: int
    """Largest number of blocks."""

class SlcCacheSizeStatic(Record):
    """The cache always has the same blocks, which over-provisioning has to leave."""
    blocks: int
    """Number of blocks."""

class SlcCacheSpec(Record):
    """An SLC cache: blocks in which a cell holds one bit, so that they are programmed and read fast and hold less.
    Writes of the host go there while there is room. The data is folded later: moved to blocks whose cells hold all
    their bits. Source: S. Lee, K. Ha, K. Zhang, J. Kim, J. Kim, "FlexFS: A Flexible Flash File System for MLC NAND
    Flash Memory", USENIX ATC 2009, for blocks that change between one bit and several, and for moving data in idle
    time.
    """
    bits_per_cell: int | None
    """Bits of a cell in other blocks. A block of the cache has one page for this number of pages of another block.
    Without this field the number is that of the page types.
    """
    cells: SlcCellsSpec
    """Times and errors of the blocks of the cache."""
    fold_below_blocks: int
    """Number of blocks that a plane's cache can open below which folding begins under load, too. With 0 folding begins
    only in idle time, or where free blocks run short. With `when_full = "fold"` the number is at least 1.
    """
    idle_after_us: float
    """Time for which an SSD has had no operation of the host before folding in idle time begins, us. Folding ends with
    the block at hand when the SSD has such an operation again.
    """
    size: SlcCacheSize
    """Number of blocks of the cache in a plane: `{ static = { blocks = 8 } }` or `{ dynamic = { least_blocks = 2,
    most_blocks = 64 } }`.
    """
    when_full: Literal["direct"] | Literal["fold"]
    """The way of the host's writes when a plane's cache is full. With `"direct"` they go to blocks whose cells hold
    all their bits. With `"fold"` they wait for folding while there is something to fold.
    """

class SlcCacheSummary(Record):
    """The SLC cache."""
    blocks_folded: int
    """Blocks that were chosen to be folded. Blocks that are erased together count as one."""
    blocks_folded_in_idle_time: int
    """Blocks that were chosen to be folded in idle time."""
    cached_codewords: int
    """Codewords of the host that were programmed to the cache."""
    cached_share: float | None
    """Share of the cache in the codewords programmed for the host; `null` where none were programmed."""
    capacity_bytes: int
    """Data that the cache's blocks have room for at the end, bytes; free blocks that the cache might take do not
    count.
    """
    codewords_read: int
    """Codewords of the host's reads that were read from the cache."""
    direct_codewords: int
    """Codewords of the host that were programmed past the cache."""
    fold_write_amplification: float | None
    """Codewords programmed by folding over those that the host wrote; `null` without writes."""
    folded_codewords: int
    """Codewords that folding has programmed."""
    gc_write_amplification: float | None
    """Codewords programmed by garbage collection over those that the host wrote; `null` without writes."""
    host_write_amplification: float | None
    """Codewords programmed for the host over those that it wrote; `null` without writes. This part of write
    amplification is below 1 where a write buffer coalesces.
    """
    read_share: float | None
    """Share of the cache in all codewords that the host read from flash; `null` where there were none."""
    valid_bytes: int
    """Valid data in the cache at the end, bytes."""

class SlcCellsSpec(Record):
    """Times and errors of a block in which a cell holds one bit. Source: of the times, HP and Micron, "Solid State
    Drive Technology: Differences between SLC, MLC and TLC NAND", technical white paper, table 1: SLC is read in 25
    us, programmed in 200 to 300 us, erased in 1.5 to 2 ms.
    """
    erase_us: float
    """Time to erase a block, us."""
    program_us: float
    """Time to program a page, us."""
    rber_factor: float
    """Raw bit error rate of the cache over the mean rate of the pages of other blocks. The other blocks have as many
    P/E cycles and the same age of data.
    """
    sense_extra_level_us: float
    """Time to sense one extra level, us."""
    sense_us: float
    """Time to sense a page with hard decision, us."""
    wear: float
    """P/E cycles that one cycle with one bit a cell counts as."""

class SlowestReads(Record):
    """The slowest codeword reads. The codewords that one read of pages reads for the host at once are ranked by their
    mean time.
    """
    count: int
    """Number of these reads. Reads whose times fall into one bucket are counted together."""
    from_us: float
    """Time of the quickest of these reads, us."""
    mean_us: float
    """Mean time of these reads, us; the parts of `time_us` add up to it."""
    share: float
    """The share of reads that counts as slowest."""
    time_us: ReadTimeUs
    """The parts of the mean time."""
    wait_plane_by_cause: list[WaitForCause] | None
    """The part of `wait_plane` that was not the host's, by its cause; absent where there is none."""
    wait_plane_for_us: WaitPlaneForUs
    """The operations that `wait_plane` was spent on; the times add up to it."""

class SpreadPart(Record):
    """A part of a spread time. With probability `share` the time is longer by the sum of the other fields; a field
    that is left out adds nothing. If the shares add up to less than 1, nothing is added in the remaining cases. A
    negative sum shortens the time, at most to zero.
    """
    exponential_us: float
    """Mean of an exponentially distributed part, us."""
    fixed_us: float
    """Fixed part, us."""
    normal_us: float
    """Standard deviation of a normally distributed part with mean 0, us."""
    share: float
    """Probability of this part."""

class SsdAge(Record):
    """The age of an SSD of an array at the start."""
    block_reads: float
    """Reads of each block since its data was written. Default: 0."""
    pe_cycles: int
    """Program/erase cycles of the blocks of the SSD at the start."""
    retention_days: float
    """Age of the data of the SSD, days."""

class Summary(Record):
    """The result of a run."""
    background: list[BackgroundWork] | None
    """Work of planes that was not the host's, by its cause; causes are in a fixed order. Absent where there was no
    such work.
    """
    bad_blocks: BadBlocksSummary | None
    """Bad blocks; absent where the config has none."""
    code_rates: CodeRatesSummary | None
    """Code rates; `null` unless `reliability` is `adaptive`."""
    codeword_reads: CodewordReads
    """Codewords that the host read."""
    config_sha256: str
    """SHA-256 of the resolved config and the model version."""
    copyback: CopybackSummary | None
    """Copyback; absent without it."""
    dram: DramSummary | None
    """The controller's DRAM; absent without one."""
    encoder: EncoderSummary | None
    """Encoders; `null` where encoding takes no time."""
    energy: EnergySummary
    """Energy of the operations."""
    flushes: int | None
    """Completed flushes; absent if there were none."""
    gc: GcSummary
    """Garbage collection."""
    growth: GrowthSummary | None
    """Growth of response times with the run, which happens where requests of an open loop come faster than they are
    served; absent where times do not grow.
    """
    host_link: HostLinkSummary | None
    """The link to the host; absent without one."""
    idle_ages: list[str] | None
    """Paths of the ages in `precondition` that nothing depends on; absent if there are none."""
    interconnect: InterconnectSummary | None
    """Links and the switch; `null` without them."""
    interrupted: bool
    """Whether the run was stopped before its end; the numbers then cover what had completed."""
    machine: MachineSummary
    """Costs of the simulation on its computer. No other numbers differ when the same run is repeated."""
    mapping: MappingSummary | None
    """The mapping cache; `null` where the whole map is in memory."""
    measurement: MeasurementSummary | None
    """The warm-up of the run; absent without `[measurement]`."""
    model_version: int
    """The version of the model. It changes whenever the same config gives other numbers."""
    operations: Operations
    """Operations of flash, buses and decoders, whatever their cause."""
    parity: ParitySummary | None
    """Parity across dies; absent without it."""
    policy: str
    """Read policy."""
    power_loss: PowerLossSummary | None
    """Losses of power; absent where power does not fail."""
    read_ahead: ReadAheadSummary | None
    """Reading ahead; absent without it."""
    read_buffer: ReadBufferSummary | None
    """The read buffer; absent without one."""
    read_reclaim: ReadReclaimSummary | None
    """Read reclaim; `null` without it."""
    reads: int
    """Completed reads."""
    references: ReferencesSummary | None
    """References of reads; absent where cells have no threshold voltages."""
    refresh: RefreshSummary | None
    """Refresh, by age or because a scrub asks for it; absent without refresh and scrub."""
    reliability: str
    """The reliability model: the source of failure probabilities."""
    requests: int
    """Completed requests."""
    response: Responses
    """Response times."""
    retry: str
    """References that a retry senses, as in `read.retry`."""
    scheduling: SchedulingSummary | None
    """Counts of the schedule's choices; absent without `[scheduling]`."""
    scrub: ScrubSummary | None
    """Patrol scrub; absent without one."""
    seed: int
    """Seed of every random stream."""
    simulated_s: float
    """Simulated time of the last completion, s."""
    slc_cache: SlcCacheSummary | None
    """The SLC cache; absent without one."""
    softsense_version: str
    """The version of softsense."""
    source: Any
    """The source of the requests: `{"trace": ...}`, `{"workload": ...}`, or `{"tenants": ...}` with the source of each
    tenant.
    """
    tenants: list[TenantSummary] | None
    """Results of each tenant, in the order of the config; absent without tenants."""
    throughput: Throughput
    """Requests and bytes per second of simulated time."""
    trims: int
    """Completed trims."""
    utilisation: Utilisation
    """Mean busy shares of resources."""
    wear: WearSummary | None
    """P/E cycles of blocks at the end; absent where no block was erased and wear is not levelled."""
    write_pacing: WritePacingSummary | None
    """The pace of writes; absent where writes are not paced."""
    writes: int
    """Completed writes."""
    writes_detail: WritesDetail
    """Codewords written."""

class SuspendSpec(Record):
    """Suspension of a program or an erase for reads, and its resumption. An operation is suspended when reads that
    have priority wait for the array and begin sooner that way.
    """
    erase_us: float
    """Time from the command that suspends an erase until the array can sense, us."""
    least_run_us: float
    """Time for which a program or an erase runs, from its begin or its last resumption, before it is suspended, us."""
    longest_us: float | None
    """Time after which a suspended operation is resumed although reads wait, us, once the read under way has left the
    array. Without this field the operation waits as long as there are reads.
    """
    most: int
    """Largest number of suspensions of a program or an erase."""
    program_us: float
    """Time from the command that suspends a program until the array can sense, us."""
    resume_us: float
    """Time that each resumption adds to a program or an erase, us."""
    spread: list[SpreadPart] | None
    """Time that the array takes to stop beyond `program_us` or `erase_us`: pulses have to end, and the controller has
    other work. For each suspension one part is drawn by its share. If the shares add up to less than 1, nothing is
    added in the remaining cases.
    """
    while_writes_wait: float
    """Share of the suspensions that happen while writes of the host wait for room in the write buffer. Below 1 it
    describes a controller that lets programs go on when writes wait.
    """

class TableSpec(Record):
    """A decode table, and the flash whose codewords are read."""
    file: str
    """Name of a shipped table, or a file beside the config."""
    most_beyond: float
    """Largest share of the host's codeword reads whose raw bit error rate is beyond the grid of the table, so that
    their outcome is a guess from its nearest point. A run with more ends with an error.
    """
    rber: RberModel
    """Raw bit error rate by age."""
    variation: Variation
    """Differences between chips, blocks and pages."""

class TelegraphNoise(Record):
    """Random telegraph noise of programmed cells: Laplace, with scale lambda = `scale_v` N^`pe_exponent` after N P/E
    cycles.
    """
    pe_exponent: float
    """Exponent of P/E cycles."""
    scale_v: float
    """lambda after one P/E cycle, in volts; 0 for no noise."""

class TenantSpec(Record):
    """A tenant, one of several users of the device. It has requests and a submission queue of its own, in a part of
    the address space.
    """
    fetched_commands: int | None
    """Largest number of the tenant's commands that have been fetched and have not completed, so that no tenant takes
    the whole device, whatever its turn. Without this field only `host.arbitration.fetched_commands` bounds them,
    for all tenants together.
    """
    idle: bool | None
    """If true, the tenant issues nothing. Its namespace and the random numbers of the others stay as they are, so that
    a run without the tenant is the same but for its requests.
    """
    issue: Issue | None
    """The times at which the tenant's requests are issued. Without this field they are those of `host.issue`."""
    name: str
    """Name of the tenant in results."""
    namespace: Namespace
    """The part of the address space that the tenant sees, from 0 on."""
    placement: int | None
    """The placement handle of the tenant's writes. Writes of different handles go to different blocks, until garbage
    collection moves them together.
    """
    priority: Literal["urgent"] | Literal["high"] | Literal["medium"] | Literal["low"]
    """The class of the tenant's submission queue, for `host.arbitration.scheme.weighted_round_robin`, and its rank for
    the criterion `priority` of `scheduling.by`.
    """
    read_deadline_us: float | None
    """Time after its arrival within which a read of the tenant should complete, us, in place of
    `scheduling.deadlines.read_us`.
    """
    submission_queue_depth: int
    """Number of commands for which the tenant's submission queue has room. A request that arrives when the queue is
    full waits at the host, and is counted.
    """
    trace: TenantTrace | None
    """The trace that the tenant replays."""
    weight: int
    """Length of the queue's turn in units of `host.arbitration.burst` commands, among queues of its class, or among
    all queues where there are no classes.
    """
    workload: WorkloadSpec | None
    """The synthetic workload of the tenant, whose addresses are those of its namespace. A tenant has `workload` or
    `trace`.
    """

class TenantSummary(Record):
    """Results of one tenant."""
    all: ResponseSummary
    """Response times of all the tenant's requests."""
    codewords_read: int
    """Codewords that the tenant read from flash."""
    flushes: int
    """Completed flushes."""
    found_queue_full: int
    """Requests that found the tenant's submission queue full at their arrival, and waited at the host; 0 in a closed
    loop.
    """
    iops: float | None
    """Completed requests per s of `span_s`; `null` if that is 0."""
    missed_deadlines: int | None
    """Reads that completed after their deadline; absent without deadlines."""
    name: str
    """Name of the tenant."""
    read: ResponseSummary
    """Response times of the tenant's reads, from arrival to completion."""
    read_mb_per_s: float | None
    """Bytes of completed reads over `span_s`, MB/s: 10^6 bytes."""
    requests: int
    """Completed requests of the tenant."""
    span_s: float
    """Time from the tenant's first arrival to its last completion, s."""
    trim: ResponseSummary
    """Response times of the tenant's trims."""
    trim_mb_per_s: float | None
    """Bytes of completed trims over `span_s`, MB/s."""
    trims: int
    """Completed trims."""
    uncorrectable: int
    """Codewords of the tenant's reads that no level decoded."""
    write: ResponseSummary
    """Response times of the tenant's writes."""
    write_mb_per_s: float | None
    """Bytes of completed writes over `span_s`, MB/s."""

class TenantTrace(Record):
    """The trace of a tenant, with the options that traces have on the command line."""
    beyond: Literal["reject"] | Literal["wrap"] | Literal["scale"]
    """The handling of addresses beyond the namespace."""
    columns: str | None
    """Meaning of the columns of a text in no known format, such as `time:us,op,bytes,lbn:512B`."""
    delimiter: str | None
    """Delimiter between columns, a name or a character. Without this field it is told from the first line."""
    devices: str | None
    """The way in which several devices of the trace share one address space."""
    event: str | None
    """Event of blkparse that is taken as a request: Q, I, D or C."""
    format: str | None
    """Format of the file, or a file of columns that ends in `.toml`, from the folder of the config. Without this field
    the format is told from the content.
    """
    op: str | None
    """Meaning of words in the column `op`, such as `read=28/88,write=2a,skip=*`."""
    path: str
    """Path of the file, from the folder of the config."""
    size_unit: str | None
    """Unit of the size column, such as `512B`. Without this field it is the format's own."""
    skip_flushes: bool | None
    """If true, flushes are left out, and writes with FUA are plain writes."""
    skip_header: int | None
    """Number of lines to skip at the beginning."""
    skip_outliers: bool | None
    """If true, a few requests that are far from all others in time are left out."""
    time_unit: Literal["ns"] | Literal["100ns"] | Literal["us"] | Literal["ms"] | Literal["s"] | None
    """Unit of the time column. Without this field it is the format's own."""

class Throughput(Record):
    """Requests and bytes over the time from the first arrival to the last completion. Rates are `null` if this time is
    0.
    """
    in_flight: float | None
    """Mean number of requests in flight over `span_s`, including those that wait at the host. By Little's law it is
    the requests per s times their mean response. In a closed loop it is the queue depth, except at the end, where
    no request follows.
    """
    iops: float | None
    """Completed requests, trims and flushes among them, per s."""
    mb_per_s: float | None
    """Bytes of completed reads and writes, MB/s: 10^6 bytes."""
    read_iops: float | None
    """Completed reads per s."""
    read_mb_per_s: float | None
    """Bytes of completed reads, MB/s."""
    span_s: float
    """Time from the first arrival to the last completion, s."""
    write_iops: float | None
    """Completed writes per s."""
    write_mb_per_s: float | None
    """Bytes of completed writes, MB/s."""

class TimeLaw(Record):
    """The amount of a mechanism after t hours."""
    logarithmic: TimeLawLogarithmic | None
    """The amount is ln(1 + t / `t0_hours`)."""
    saturating: TimeLawSaturating | None
    """The amount is 1 - exp(-t / `tau_hours`)."""

class TimeLawLogarithmic(Record):
    """The amount is ln(1 + t / `t0_hours`)."""
    t0_hours: float
    """Time after which the growth is logarithmic, in hours."""

class TimeLawSaturating(Record):
    """The amount is 1 - exp(-t / `tau_hours`)."""
    tau_hours: float
    """Time after which the amount is 63 %, in hours."""

class UnitShares(Record):
    """Busy shares of one unit of each kind."""
    channel: float
    """Busy share of a channel bus."""
    decoder: float
    """Busy share of the decoders that share a queue: those of a channel, or all."""
    plane: float
    """Busy share of a plane, or of a die where planes take turns."""

class Utilisation(Record):
    """Mean busy shares."""
    busiest: UnitShares
    """Busy shares of the busiest unit of each kind."""
    channel: float
    """Busy share of channel buses."""
    channel_wasted: float
    """Share of time for which channel buses carried codewords whose decode failed."""
    decoder: float
    """Busy share of decoders."""
    idlest: UnitShares
    """Busy shares of the least busy unit of each kind."""
    plane: float
    """Busy share of planes, or of dies where planes take turns: sensing, programming, erasing, and whatever keeps the
    array from other work, such as waiting for the bus or for the outcome of a look-ahead.
    """

class ValleySearch(Record):
    """A controller's search for the best references. It senses each boundary at equal distances around the default
    reference, or around the expected valley, and counts the cells between neighbouring sensings. It puts the
    reference in the middle of the gap with the fewest cells, the lowest if there are several. Counts are of all
    cells of a page, whatever their state. They are random: Poisson, with the mean that the distributions give.
    """
    cells: int
    """Number of cells that are counted: the cells of a page."""
    centre_v: float | None
    """Distance of the middle sensing from the default reference, in volts. States that lose charge have their valleys
    below the default. If they lose as much as they are apart, a search around the default finds the valley of the
    next boundary.
    """
    sensings: int
    """Number of sensings at each boundary: an odd number from 3 to 63."""
    step_v: float
    """Distance between neighbouring sensings, in volts."""

class Variation(Record):
    """Variation between chips, blocks and pages: the standard deviation of ln(RBER factor) of each. A factor is log-
    normal with mean 1, so variation spreads the RBER without changing its mean.
    """
    block_sigma: float
    """Standard deviation between blocks of a chip."""
    chip_factors: list[float]
    """Factors of known chips, such as measured ones. The chips of the device take them in turn, in the order in which
    the stripe meets the chips. They need not have mean 1. Empty: chips are drawn, with `chip_sigma`.
    """
    chip_sigma: float
    """Standard deviation between chips, if there are no `chip_factors`."""
    layer_factors: list[float]
    """Factors of known layers of a 3D chip, in the order of its wordlines. The wordlines of every block are divided
    evenly among the layers. They need not have mean 1. Empty: layers are drawn, with `layer_sigma`.
    """
    layer_sigma: float
    """Standard deviation between layers, which are the same in all blocks, if there are no `layer_factors`."""
    overdispersion: float
    """Overdispersion: the correlation rho between any two bits of a codeword being wrong, 0, or from 1e-7 to below 1.
    Above 0 the numbers of errors vary more than they would if errors were independent. A codeword's RBER is then
    Beta distributed with mean p, that of its page, and variance rho p (1 - p), and its number of errors is beta-
    binomial. Source: V. Taranalli, H. Uchikawa, P. Siegel, "Channel Models for Multi-Level Cell Flash Memories
    Based on Empirical Error Analysis", 2016. They fit a and b to chips; a = p (1 / rho - 1), b = (1 - p) (1 / rho -
    1).
    """
    page_sigma: float
    """Standard deviation between pages of a block, and between writes of a page."""
    wordline_sigma: float
    """Standard deviation between wordlines of a block."""
    wordlines_per_layer: int
    """Number of consecutive wordlines in one layer, if layers are drawn; 1 or more."""

class VictimSpec(Record):
    """The rule by which a plane chooses its victim among the closed blocks that would free any space."""
    random_greedy: VictimSpecRandomGreedy
    """The block with the fewest valid codewords among some that are drawn at random (d-choices)."""

class VictimSpecRandomGreedy(Record):
    """The block with the fewest valid codewords among some that are drawn at random (d-choices)."""
    choices: int
    """Number of blocks that are drawn. With 1 victims are random."""

class WaitForCause(Record):
    """Mean time for which a codeword read waited for its plane, or die, while that was busy for one cause."""
    cause: Literal["host"] | Literal["translation"] | Literal["garbage_collection"] | Literal["wear_levelling"] | Literal["read_reclaim"] | Literal["refresh"] | Literal["scrub"] | Literal["folding"] | Literal["read_ahead"] | Literal["parity"] | Literal["recovery"] | Literal["bad_block"]
    """The cause."""
    us: float
    """The waiting time, us."""

class WaitPlaneForUs(Record):
    """Mean time for which a codeword read waited for its plane, or die, by the operation that kept that busy, us."""
    background_programs: float
    """Programs of data that garbage collection and read reclaim move, and of translation pages."""
    background_reads: float
    """Reads of garbage collection and read reclaim, and of translation pages that are written back."""
    erases: float
    """Erases."""
    host_programs: float
    """Programs of the host's data, with the wait for the bus and the transfer to the plane."""
    host_reads: float
    """Other reads of the host, including reads of map entries and of codewords that the host overwrites in part."""

class Warmup(Record):
    """The part of a run before the part that is measured."""
    requests: int | None
    """The number of requests with whose completion the warm-up ends."""
    seconds: float | None
    """Simulated time, s."""

class WatermarksSpec(Record):
    """The fill levels at which a write buffer with `lru` or `fifo` programs before it is full."""
    high: float
    """Share of the buffer above which pages are programmed, above `low`, up to 1. It counts data that waits."""
    low: float
    """Share of the buffer down to which pages are then programmed, 0 to below `high`."""

class Wear(Record):
    """The wear and age of a codeword's cells."""
    effective_reads: float | None
    """Effective reads since the write: reads of other wordlines of its block, where reads of the two adjacent
    wordlines count `read_disturb.adjacent_stress` times.
    """
    pe_cycles: int
    """Program/erase cycles of the block."""
    retention_hours: float
    """Hours since the codeword was written."""

class WearSummary(Record):
    """P/E cycles of blocks at the end, including those before the run. Blocks that are erased together count as one."""
    least_pe_cycles: int
    """P/E cycles of the least worn block."""
    levelled_to: int | None
    """Bound on this difference that `ftl.wear_levelling_spread` sets; `null` where wear is not levelled."""
    mean_pe_cycles: float
    """Mean P/E cycles of the blocks."""
    most_pe_cycles: int
    """P/E cycles of the most worn block."""
    widest_plane_spread: int
    """Largest difference between the most and the least P/E cycles within one plane. Planes that are written together
    count as one.
    """

class WordlineReclaimSpec(Record):
    """The limits of a wordline, and the way in which the controller counts reads."""
    counters: int | None
    """Counters of a block (Space-Saving), which never count too few reads. Without this field each wordline has a
    counter.
    """
    effective_reads: list[float]
    """Effective reads at which a wordline is due, one limit for each class, the best class first. Classes are equal
    shares of the wordlines of a block in the order of the known factors of their layers. A list of one number holds
    for all wordlines.
    """
    pass_through_reduction: float
    """Reduction of the pass-through voltage of a block if none of its wordlines held valid data, as a share of the
    nominal voltage, 0 to 0.5. The actual reduction is proportional to the share of such wordlines. At most 0.05 was
    published.
    """

class WorkloadSpec(Record):
    """`[workload]`: a synthetic workload."""
    addresses: Addresses
    """The distribution of the addresses of requests."""
    align_bytes: int
    """Requests start at multiples of this, in bytes."""
    arrivals: Arrivals
    """The arrival process of requests."""
    flush_fraction: float | None
    """The probability that a request is a flush, and neither read nor write."""
    footprint_bytes: int | None
    """Requests stay within this number of bytes from the start of the device. Default: the whole device."""
    fua_fraction: float | None
    """The probability that a write completes only when it is in flash (force unit access)."""
    read_after_write: float
    """The probability that a read goes to the address of one of the last 1,048,576 writes, of the k-th last one with a
    probability proportional to about 1/k. Other reads, and all reads before the first write, follow `addresses`.
    """
    read_fraction: float
    """The probability that a request is a read rather than a write."""
    requests: int
    """Number of requests that are measured, unless `measurement.seconds` ends the run; the requests of a warm-up come
    before them.
    """
    sizes: list[SizeShare]
    """Sizes of requests, and the probability of each; the shares add up to 1."""
    trim_fraction: float | None
    """The probability that a request that neither reads nor is a flush is a trim, and no write."""
    written_bytes: int | None
    """Writes stay within this number of bytes from the start of the footprint, and reads within the rest, with
    `addresses` in each part. Without this field both go everywhere.
    """

class WritePacingSpec(Record):
    """The pace at which a controller lets writes on, whether or not its buffer has room. It is a token bucket, as in
    drives that are sold for even latencies. Writes that come faster wait, in order.
    """
    burst_bytes: int
    """Number of bytes that may run ahead of the pace while nothing is collected. Default: 0."""
    mb_per_s: float
    """The pace of all programs, those of collection included, MB/s: 10^6 bytes. The pace of the host's writes is the
    share of it that collection leaves: all of it until blocks are collected, and then the stale share of these
    blocks.
    """

class WritePacingSummary(Record):
    """Results of `host.write_pacing`."""
    utilisation: float
    """Share of the allowed pace that writes used."""

class WritesDetail(Record):
    """Codewords written."""
    coalesced_codewords: int
    """Codewords of the host that were overwritten in the write buffer before they were programmed."""
    data_capacity_bytes: int
    """Data that the flash has room for at the end with the code rates of its blocks, including spare capacity, bytes."""
    gc_codewords: int
    """Codewords written by garbage collection."""
    host_codewords: int
    """Codewords written by the host."""
    left_in_buffer_codewords: int
    """Codewords in the write buffer at the end: accepted, but not in flash. It is 0 unless the run was interrupted or
    there is no room left.
    """
    merged_codewords: int | None
    """Codewords that the write buffer held in part until other writes brought the rest, so that nothing was read;
    absent unless `host.partial_write` is `merge`.
    """
    padding_codewords: int
    """Places in programmed pages that were left empty."""
    read_modify_writes: int
    """Codewords read because a write covered them in part."""
    read_only_from_s: float | None
    """Simulated time at which the first codeword was refused, s; `null` if none was. From then on the device, or one
    of several SSDs, takes only reads and trims, until trims have made room.
    """
    refused_codewords: int
    """Codewords of the host that were refused because no room was left: code rates were lower, or dies or blocks had
    failed.
    """
    translation_codewords: int
    """Translation pages written, except for those that garbage collection moved."""
    write_amplification: float | None
    """Codewords that fit into all programmed pages, over codewords written by the host; `null` without writes."""
