"""Everyday occupations and interests with the category a reader would expect, written before the rules were tried."""

from __future__ import annotations

_OCCUPATIONS = """
Business & Finance: accountant; bank teller; financial analyst; investment banker; insurance underwriter; small business owner;
  management consultant; project manager; executive assistant; office manager; bookkeeper; receptionist; operations manager;
  startup founder; economist
Marketing & HR: marketing manager; HR specialist; recruiter; brand strategist; public relations manager; SEO specialist;
  social media manager; human resources director
Sales & Retail: cashier; real estate agent; sales representative; store manager; retail associate; car salesman; shopkeeper;
  street vendor; boutique owner
IT & Software: software engineer; UX researcher; data scientist; web developer; cybersecurity analyst; database administrator;
  IT support technician; machine learning engineer; systems administrator; DevOps engineer; data analyst; product manager
Engineering: civil engineer; mechanical engineer; architect; aerospace engineer; electrical engineer; urban planner; surveyor
Science & Research: marine biologist; chemist; astrophysicist; environmental scientist; archaeologist; research assistant;
  geologist; statistician; anthropologist
Healthcare: registered nurse; pediatrician; dental hygienist; physical therapist; paramedic; pharmacist; veterinarian;
  clinical psychologist; home health aide; midwife; surgeon; massage therapist; nutritionist
Education: high school teacher; university professor; librarian; kindergarten teacher; school principal; math tutor;
  special education teacher; academic advisor
Creative & Design: graphic designer; fashion designer; painter; jazz musician; photographer; UX designer; actor;
  interior designer; tattoo artist; choreographer; game designer; sculptor; florist; illustrator
Media & Publishing: journalist; novelist; film director; podcast host; copy editor; blogger; translator; radio presenter;
  screenwriter; librettist and poet
Law & Public Service: corporate lawyer; police officer; firefighter; judge; army sergeant; paralegal; city council member;
  diplomat; immigration attorney; security guard
Social Impact & Non-profit: social worker; community organizer; nonprofit director; human rights activist; youth worker;
  volunteer coordinator; pastor; substance abuse counselor
Skilled Worker: plumber; electrician; carpenter; auto mechanic; welder; farmer; factory worker; construction worker;
  landscaper; seamstress; fisherman; HVAC technician
Driver & Transport: truck driver; taxi driver; bus driver; delivery driver; airline pilot; train conductor; sailor;
  warehouse worker; logistics coordinator; uber driver; postal worker
Hospitality & Personal Service: chef; barista; waitress; hairdresser; hotel manager; nanny; housekeeper; flight attendant;
  bartender; janitor; restaurant owner
Sports & Fitness: personal trainer; yoga instructor; professional soccer player; swim coach; boxer
Student, Retired or Not Working: graduate student; retired; stay-at-home mom; unemployed; homemaker; retiree
Unspecified Work: freelancer; self-employed; full-time worker; gig worker
"""

_INTERESTS = """
Arts, Fashion & Design: painting; street photography; fashion design; sketching; calligraphy; graffiti art; interior design;
  visiting art galleries; makeup artistry; architecture; sculpture; contemporary art
Music & Dance: playing guitar; jazz music; salsa dancing; singing in a choir; vinyl records; West African drumming; opera;
  K-pop; composing electronic music; ballet; songwriting; DJing
Film, Theater & Entertainment: watching movies; theater; stand-up comedy; anime; film noir; podcasts; documentaries;
  improv comedy; cosplay
Reading, Writing & Languages: reading; poetry; creative writing; learning languages; mystery novels; journaling; blogging;
  science fiction novels; book clubs; journalism
Games: video games; chess; board games; playing poker; esports; Dungeons & Dragons; crossword puzzles; tabletop role-playing
  games; online gaming
Technology & Science: astronomy; coding; robotics; artificial intelligence; 3D printing; building computers; stargazing;
  physics; cybersecurity; drones
Sports & Fitness: soccer; running marathons; basketball; weightlifting; cycling; swimming; martial arts; boxing; surfing;
  rock climbing; skateboarding; golf; watching football
Nature & Outdoors: birdwatching; hiking in national parks; urban gardening; camping; fishing; dog training; beekeeping;
  horseback riding; wildlife conservation; houseplants; scuba diving; animal rescue
Travel & Culture: traveling; backpacking through Europe; ancient history; genealogy; cultural festivals; museum visits;
  road trips; exploring new cultures; local history
Food & Drink: cooking; baking sourdough bread; wine tasting; craft beer; trying new restaurants; vegan cooking;
  barbecue; coffee brewing; home brewing; culinary arts
Wellness & Spirituality: yoga; meditation; mindfulness; mental health; bible study; astrology; personal development;
  self-care; nutrition; prayer
Family, Community & Causes: volunteering; spending time with family; climate activism; human rights; politics; social justice;
  LGBTQ+ advocacy; parenting; community organizing; mentoring youth
Crafts, DIY & Collecting: knitting; woodworking; restoring classic cars; pottery; stamp collecting; quilting; home improvement;
  vintage synthesizer collecting; model trains; sewing; antiques; motorcycles
Career, Business & Learning: investing; entrepreneurship; stock trading; philosophy; psychology; public speaking; networking;
  real estate investing; marketing; leadership
Unspecified: none; hobbies; no particular interest
"""


def _listed(text: str) -> list[tuple[str, str]]:
    rows: list[tuple[str, str]] = []
    for line in " ".join(
        f"\n{part}" if not part.startswith("  ") else part for part in text.strip().splitlines()
    ).split("\n"):
        if line.strip():
            category, terms = line.split(":", 1)
            rows += [(term.strip(), category.strip()) for term in terms.split(";") if term.strip()]
    return rows


OCCUPATIONS = _listed(_OCCUPATIONS)
INTERESTS = _listed(_INTERESTS)
