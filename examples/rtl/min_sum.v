// A layered min-sum decoder of hard decisions with a-posteriori values of eight bits (`min-sum-8bit`): a check in each clock. It is
// written to be read beside docs/model/ldpc-decoding.md and to be compared with vectors of `softsense code vectors`; a circuit would
// do the checks of a circulant at once.
module min_sum #(
    parameter ROWS = 6,                // block rows
    parameter COLUMNS = 12,            // block columns
    parameter Z = 8,                   // bits of a circulant
    parameter CIRCULANTS = 36,
    parameter ITERATIONS = 20,         // at most
    parameter CHANNEL = 22,            // magnitude of a hard decision
    parameter LIMIT = 34,              // largest magnitude of a message
    parameter FACTORS = 24'h0c0a08,    // in sixteenths, a byte for each iteration, the first lowest; the last for all that follow
    parameter FACTOR_COUNT = 3,
    parameter BASE = "base.hex"
) (
    input clock,
    input start,                                    // takes `received`
    input [COLUMNS * Z - 1:0] received,
    output reg stepped = 0,                         // an iteration is over, or the last one ended within
    output reg done = 0,                            // for one clock
    output reg converged,
    output reg [31:0] iterations,
    output reg [31:0] violated,
    output [COLUMNS * Z - 1:0] decided,
    output [COLUMNS * Z * 8 - 1:0] posteriors,
    output [CIRCULANTS * Z * 8 - 1:0] messages
);
    localparam STRIDE = (ROWS + 3) / 4;             // block rows between two looks at the decisions

    reg [15:0] base[0:ROWS * COLUMNS - 1];
    reg signed [7:0] total[0:COLUMNS * Z - 1];
    reg signed [7:0] message[0:CIRCULANTS * Z - 1];
    initial $readmemh(BASE, base);

    genvar each;
    generate
        for (each = 0; each < COLUMNS * Z; each = each + 1) begin : bits
            assign decided[each] = total[each][7];
            assign posteriors[each * 8 +: 8] = total[each];
        end
        for (each = 0; each < CIRCULANTS * Z; each = each + 1) begin : sent
            assign messages[each * 8 +: 8] = message[each];
        end
    endgenerate

    function signed [7:0] saturated(input integer value);
        saturated = value > 127 ? 127 : value < -128 ? -128 : value;
    endfunction

    // How checks answer to a magnitude.
    function integer answer(input integer magnitude, input integer iteration);
        integer which, scaled;
        begin
            which = iteration < FACTOR_COUNT ? iteration : FACTOR_COUNT - 1;
            scaled = ((FACTORS >> (8 * which) & 255) * magnitude + 8) >> 4;
            answer = scaled > LIMIT ? LIMIT : scaled;
        end
    endfunction

    // Where a check meets the bits of a block column.
    function integer bit_of(input integer column, input integer shift, input integer check);
        bit_of = column * Z + (check + shift) % Z;
    endfunction

    function integer unsatisfied(input integer unused);
        integer row, column, check;
        reg odd;
        begin
            unsatisfied = 0;
            for (row = 0; row < ROWS; row = row + 1)
                for (check = 0; check < Z; check = check + 1) begin
                    odd = 0;
                    for (column = 0; column < COLUMNS; column = column + 1)
                        if (base[row * COLUMNS + column] != 16'hffff)
                            odd = odd ^ total[bit_of(column, base[row * COLUMNS + column], check)][7];
                    unsatisfied = unsatisfied + odd;
                end
        end
    endfunction

    reg busy = 0;
    integer row, check, first;                      // the check at hand; the first circulant of its block row
    integer column, circulant, place, least, second, magnitude, index;
    reg sign;
    reg signed [7:0] extrinsic[0:COLUMNS - 1];

    task end_with(input success);
        begin
            busy <= 0;
            done <= 1;
            converged <= success;
        end
    endtask

    always @(posedge clock) begin
        stepped <= 0;
        done <= 0;
        if (start) begin
            for (index = 0; index < COLUMNS * Z; index = index + 1)
                total[index] = received[index] ? -CHANNEL : CHANNEL;
            for (index = 0; index < CIRCULANTS * Z; index = index + 1) message[index] = 0;
            iterations = 0;
            violated = unsatisfied(0);
            row = 0;
            check = 0;
            first = 0;
            stepped <= 1;
            busy <= violated != 0;
            if (violated == 0) end_with(1);
        end else if (busy) begin
            // What the check receives, and the two least magnitudes of it.
            least = 127;
            second = 127;
            sign = 0;
            circulant = first;
            for (column = 0; column < COLUMNS; column = column + 1)
                if (base[row * COLUMNS + column] != 16'hffff) begin
                    place = bit_of(column, base[row * COLUMNS + column], check);
                    extrinsic[column] = saturated(total[place] - message[circulant * Z + check]);
                    magnitude = extrinsic[column] < 0 ? -extrinsic[column] : extrinsic[column];
                    if (magnitude < least) begin
                        second = least;
                        least = magnitude;
                    end else if (magnitude < second) second = magnitude;
                    sign = sign ^ extrinsic[column][7];
                    circulant = circulant + 1;
                end
            // What it sends.
            circulant = first;
            for (column = 0; column < COLUMNS; column = column + 1)
                if (base[row * COLUMNS + column] != 16'hffff) begin
                    place = bit_of(column, base[row * COLUMNS + column], check);
                    magnitude = extrinsic[column] < 0 ? -extrinsic[column] : extrinsic[column];
                    magnitude = answer(magnitude == least ? second : least, iterations);
                    message[circulant * Z + check] = sign ^ extrinsic[column][7] ? -magnitude : magnitude;
                    total[place] = saturated(extrinsic[column] + message[circulant * Z + check]);
                    circulant = circulant + 1;
                end
            check = check + 1;
            if (check == Z) begin
                check = 0;
                row = row + 1;
                first = circulant;
                violated = unsatisfied(0);
                // The first iteration is looked at when it is over.
                if (violated == 0 && (row == ROWS || iterations > 0 && row % STRIDE == 0)) begin
                    iterations = iterations + 1;
                    stepped <= 1;
                    end_with(1);
                end else if (row == ROWS) begin
                    row = 0;
                    first = 0;
                    iterations = iterations + 1;
                    stepped <= 1;
                    if (iterations == ITERATIONS) end_with(0);
                end
            end
        end
    end
endmodule
