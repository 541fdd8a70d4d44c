# Compares a private area with the kernel's wherever a source says the area's type, on the same line: in a function that returns the area, where a
# pointer gets it, and at a cast. build-user-modules.sh runs it over the text of a source: sed -z -E.
#
# The area stands between two marks while this works: inet_csk_ca(sk), and the field icsk_ca_priv of x, f(x) or ((type *)x). Its first element's
# address is the area too, and its elements are numbers.
s/inet_csk_ca[[:space:]]*\(([^();]|\([^();]*\))*\)/\x01&\x02/g
s/([A-Za-z_]\w*([[:space:]]*\(([^();]|\([^();]*\))*\))?|\([[:space:]]*\([^();]*\)[[:space:]]*\w+[[:space:]]*\))((->|\.)\w+)*(->|\.)icsk_ca_priv\>/\x01&\x02/g
s/&[[:space:]]*(\x01[^\x02]*\x02)[[:space:]]*\[[[:space:]]*0[[:space:]]*\]/\1/g
s/\x01([^\x02]*)\x02([[:space:]]*\[)/\1\2/g
s/\n((static|inline|__always_inline|__noinline|const|struct|[[:space:]])*[A-Za-z_]\w*[[:space:]]*\*[[:space:]]*)([A-Za-z_]\w*)([[:space:]]*\([^(){};]{0,200}\)[[:space:]]*\{)([[:space:]]*return[[:space:]]+(\([^()]{0,80}\)[[:space:]]*)?\x01)/\n\1\3\4 _Static_assert(sizeof(*\3((void *)0)) <= ICSK_CA_PRIV_SIZE, "ICSK_CA_PRIV_SIZE");\5/g
s/([^A-Za-z0-9_>.])([A-Za-z_]\w*((->|\.)\w+)*)([[:space:]]*=[[:space:]]*)((\([^();]*\*[[:space:]]*\)[[:space:]]*)?\x01[^\x02]*\x02)/\1\2\5({ _Static_assert(sizeof(*\2) <= ICSK_CA_PRIV_SIZE, "ICSK_CA_PRIV_SIZE"); \6; })/g
s/(\([[:space:]]*((const[[:space:]]+)?(struct[[:space:]]+)?[A-Za-z_]\w*)[[:space:]]*\*[[:space:]]*(const[[:space:]]*)?\)[[:space:]]*)(\x01[^\x02]*\x02)/\1({ _Static_assert(sizeof(\2) <= ICSK_CA_PRIV_SIZE, "ICSK_CA_PRIV_SIZE"); \6; })/g
s/[\x01\x02]//g
